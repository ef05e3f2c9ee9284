#include "app/config/run_config.hpp"

#include "skyline/core/random.hpp"

#include "app/config/config_file.hpp"
#include "app/config/data_section.hpp"
#include "app/config/exported_network.hpp"
#include "app/config/section_rules.hpp"
#include "core/backoff.hpp"
#include "core/config/config_errors.hpp"
#include "core/config/config_text.hpp"
#include "core/text/hash.hpp"
#include "core/version.hpp"
#include "evaluate/command/command_check.hpp"
#include "model_export/model/exported_model.hpp"
#include "objective/objective_ends.hpp"
#include "run/opened_run.hpp"
#include "search/pruning_bars.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

/// How far a data set is checked while a configuration is read.
enum class DataCheck { kStated, kOpened, kVerified };

/// Makes a RunConfig from a configuration, part by part. A part with mistakes is left out. The others are
/// still checked, as far as they do not depend on it, so that all mistakes are reported at once.
class ConfigParser {
 public:
  ConfigParser(const ConfigNode& written, std::size_t slots);
  /// @throws UserError with all mistakes
  RunConfig parse(DataCheck check);

 private:
  void read_sections();
  void check_network() const;
  void read_data(DataCheck check);
  void check_evaluator() const;
  void read_space();
  void read_objectives(bool knows_metrics);
  void check_pruning() const;
  void check_place() const;
  void check_search_programs() const;
  void read_known();
  void throw_mistakes();
  void resolve();
  bool is_right_so_far() const { return mistakes_.empty() && in_values_.empty(); }

  const OptionTable<ConfigSections> table_;
  const space::SearchedSection searched_;
  ConfigNode root_;  // tree with the values that the first genotype gives
  const std::size_t slots_;
  RunConfig config_;
  DataOptions data_;         // options, and facts about the data set
  bool has_network_ = true;  // whether the space states a network
  Mistakes in_values_;       // mistakes in values that parameters give to the evaluator's section
  Mistakes mistakes_;        // all other mistakes
};

ConfigParser::ConfigParser(const ConfigNode& written, std::size_t slots)
    : table_(all_sections()), searched_(searched_section(written)), root_(written), slots_(slots) {
  in_values_.attempt([&] { root_ = with_first_values(written, searched_); });
  const ConfigNode* space = section_in(root_, "space");
  has_network_ = space != nullptr && (!space->is_map() || space->find("network") != nullptr);
}

RunConfig ConfigParser::parse(DataCheck check) {
  Mistakes in_section;  // the evaluator's section reports them, too
  in_section.attempt([&] { config_.given = trial::given_metrics(root_); });
  mistakes_.attempt([&] { read_sections(); });
  mistakes_.attempt([&] { read_data(check); });
  mistakes_.attempt([&] { check_evaluator(); });
  const bool knows_metrics = is_right_so_far();
  mistakes_.attempt([&] { read_space(); });
  const bool knows_space = is_right_so_far();
  mistakes_.attempt([&] { read_objectives(knows_metrics); });
  if (is_right_so_far()) mistakes_.attempt([&] { check_pruning(); });
  if (check != DataCheck::kStated && knows_space) mistakes_.attempt([&] { check_place(); });
  if (check != DataCheck::kStated) mistakes_.attempt([&] { check_search_programs(); });
  throw_mistakes();
  if (check != DataCheck::kStated) read_known();
  resolve();
  return std::move(config_);
}

void ConfigParser::read_sections() {
  if (!root_.is_map()) root_.fail_expected("a map with the sections data, space, objectives, search, ...");
  set_implied_keys(root_);
  config_.sections = table_.parse(root_);
  if (config_.algorithm().window && !config_.sections.run.window) {
    root_.at("run").at("window").fail("expected a number of trials, got generation: `algorithm: " +
                                      config_.algorithm().name + "` has no generations");
  }
  config_.evaluator = ChosenEvaluator{evaluate::find_evaluator(config_.sections.evaluator),
                                      config_.sections.evaluator_section};
  const ConfigNode* written = root_.find(config_.evaluator.kind->name);
  if (written != nullptr) config_.evaluator.written = *written;
  config_.evaluator.needs = config_.evaluator.kind->needs(config_.evaluator.section);
  check_sections(root_, config_);
  check_network();
  check_costs(root_, config_, has_network_);
  if (config_.evaluator.needs.data && config_.sections.data.file.empty()) {
    root_.at("data").fail("missing key `file`");
  }
}

/// Refuses a space without a network where networks are needed.
void ConfigParser::check_network() const {
  const ConfigNode* section = section_in(root_, "space");
  if (has_network_ || section == nullptr) return;
  const evaluate::EvaluatorNeeds& needs = config_.evaluator.needs;
  if (needs.network) {
    section->fail("missing key `network`: the evaluator `" + config_.evaluator.kind->name +
                  "` needs networks");
  }
  if (needs.inherits && !needs.folders) {
    section->fail("missing key `network`: children start from the weights of their parents' layers");
  }
}

/// Verifying a file takes long, so it is done only if the configuration has no mistakes so far.
void ConfigParser::read_data(DataCheck check) {
  const ConfigNode* section = section_in(root_, "data");
  if (section == nullptr && root_.is_map() && has_network_) (void)root_.at("data");
  if (section == nullptr) return;
  DataOptions data = DataOptions::table().parse(*section);
  if (!data.file.empty() && check != DataCheck::kStated) {
    data.file = locate_data(*section, data.file);
    config_.dataset = store::Dataset::open(data.file, check == DataCheck::kVerified && is_right_so_far());
    describe_data(*section, *config_.dataset, data);
  }
  if (is_right_so_far() && !data.shape) (void)section->at("shape");
  if (is_right_so_far() && !data.classes) (void)section->at("classes");
  if (!data.shape || !data.classes) return;
  config_.shape = {*data.shape, *data.classes};
  data_ = std::move(data);
  if (config_.dataset == nullptr || !is_right_so_far()) return;
  config_.split = split_data(*section, *config_.dataset, data_, config_.sections.run.seed);
}

/// Checks that the data suit the evaluator's section, with every value that parameters give to it.
void ConfigParser::check_evaluator() const {
  if (config_.dataset == nullptr || !is_right_so_far() || !config_.evaluator.kind->check) return;
  const evaluate::EvaluatorKind& kind = *config_.evaluator.kind;
  const auto check = [&](const ConfigNode& section) { kind.check(section, *config_.dataset, config_.split); };
  if (!searched_.written().empty()) return searched_.check(check);
  const ConfigNode* written = root_.find(kind.name);
  check(written != nullptr ? *written : root_);
}

void ConfigParser::read_space() {
  const ConfigNode* section = section_in(root_, "space");
  if (section == nullptr || (has_network_ && !data_.shape)) return;
  config_.space = space::SearchSpace::parse(*section, config_.shape, searched_.counted(),
                                            trial::expressions_of(config_.given),
                                            objective::first_aim(root_, objective::is_int8_cost));
}

/// Refuses pruning where no objective is known before the end of a training.
void ConfigParser::check_pruning() const {
  const ConfigNode* search = section_in(root_, "search");
  if (search == nullptr || !search::pruning_of(*search)) return;
  if (!search::StepComparison(config_.objectives, config_.metrics).reported().empty()) return;
  search->at("pruning").fail("the evaluator `" + config_.evaluator.kind->name +
                             "` measures no objective during a training: nothing can be compared");
}

/// Checks that the space, the budgets and this machine suit the evaluator's section.
void ConfigParser::check_place() const {
  if (!config_.evaluator.kind->check_place) return;
  const objective::ObjectiveSet& objectives = config_.objectives;
  const bool has_final = config_.sections.final_training.has_value();
  const ConfigNode* search = section_in(root_, "search");
  const ConfigNode* budgets = search != nullptr && search->is_map() ? search->find("budgets") : nullptr;
  config_.evaluator.kind->check_place(
      config_.evaluator.written,
      {.space = config_.space,
       .space_section = root_.at("space"),
       .searched = searched_.written(),
       .has_data_file = !data_.file.empty(),
       .slots = slots_,
       .needed = objectives.measured_needed(),
       .full_needed = objectives.of_full_trainings().measured_needed(),
       .full_epochs = has_final ? &root_.at("final").at("epochs") : nullptr,
       .budgets = config_.algorithm().budgets(config_.sections.search, {config_.evaluator.needs.epochs}),
       .budgets_from = budgets != nullptr ? budgets : search});
}

/// Checks that the programs that choose the trials and count costs are there, if there are some.
void ConfigParser::check_search_programs() const {
  if (!is_right_so_far()) return;
  const std::string& key = config_.algorithm().program_key;
  if (!key.empty()) evaluate::check_program(root_.at("search").at(key));
  if (config_.sections.costs) evaluate::check_program(root_.at("costs").at("run"));
}

/// @param knows_metrics  whether the evaluator's section and the data are right; otherwise all metrics are
///                       accepted that the evaluator may measure
void ConfigParser::read_objectives(bool knows_metrics) {
  const ConfigNode* section = section_in(root_, "objectives");
  const evaluate::EvaluatorKind* kind = named_evaluator(root_);
  if (section == nullptr || kind == nullptr || (!knows_metrics && declares_metrics(*kind))) return;
  config_.metrics = kind->metrics(knows_metrics ? config_.evaluator.section : ConfigNode(),
                                  data_.targets.value_or(store::TargetKind::kClasses));
  trial::check_metrics(config_.metrics);
  for (const trial::GivenMetric& given : config_.given) {
    if (!given.is.is_null() || trial::find_metric(config_.metrics, given.name) == nullptr) continue;
    root_.at("costs").at("metrics").at(given.name).fail("a training measures a metric of this name");
  }
  config_.objectives = objective::ObjectiveSet::parse(
      *section, section_in(root_, "constraints"), config_.metrics,
      has_network_ || config_.evaluator.needs.network, trial::descriptions_of(config_.given));
  if (!config_.objectives.has_more_for_full_trainings() || !knows_metrics) return;
  if (!config_.sections.final_training) {
    const objective::ObjectiveSet& all = config_.objectives.of_full_trainings();
    const bool in_objectives = all.objectives().size() > config_.objectives.objectives().size();
    (in_objectives ? *section : root_.at("constraints"))
        .fail("a metric with `when: full` is measured by full trainings alone: needs the section `final`");
  }
}

void ConfigParser::throw_mistakes() {
  Mistakes all = in_values_;
  for (const std::string& line : mistakes_.lines()) {
    // With wrong values the section stays as it is written, and they are already reported.
    if (in_values_.empty() || !searched_.is_named_in(line)) all.add(line);
  }
  all.throw_if_any();
}

/// Reads the results that `search.known` names, if it is there.
void ConfigParser::read_known() {
  const ConfigNode* section = section_in(root_, "search");
  const ConfigNode* written = section != nullptr && section->is_map() ? section->find("known") : nullptr;
  if (written == nullptr) return;
  config_.known = app::read_known(*written, config_.space, config_.objectives, config_.metrics);
  search::set_known_sources(config_.sections.search, config_.known.sources);
}

void ConfigParser::resolve() {
  if (config_.dataset != nullptr && config_.evaluator.kind->baselines) {
    data_.baselines = run::baselines_node(
        config_.evaluator.kind->baselines(config_.evaluator.section, *config_.dataset, config_.split));
  }
  config_.sections.data = data_;
  config_.objectives.complete_references(config_.space);
  objective::check_derived_ends(root_.at("objectives"), config_.objectives);
  config_.sections.objectives = config_.objectives.to_config();
  config_.resolved = table_.to_config(config_.sections);
  for (const ConfigNode& scalar : searched_.written()) config_.resolved.set(scalar.path(), scalar);
  config_.resolved.assign_paths();
  config_.resolved.fill_positions(root_);
  (void)run::baselines_of(config_.resolved);  // refuses those that somebody stated wrongly
}

/// Writes the network of an architecture as a PyTorch module that says which one it is.
void write_network(const space::SearchSpace& space, const space::Architecture& architecture,
                   const std::filesystem::path& file) {
  const store::WeightsFile none;
  store::publish_file(
      file, model_export::pytorch_source(
                {architecture.network(), none, {}, {}, network_metadata(space, architecture, {})}, ""));
}

/// Exports a trained network in the formats that have a path.
void write_model(const space::SearchSpace& space, const DataOptions& data,
                 const space::Architecture& architecture, std::vector<trial::NamedTensor> weights,
                 const evaluate::ModelFiles& files) {
  store::WeightsFile trained;
  trained.tensors = std::move(weights);
  const model_export::ExportedModel model =
      exported_network(architecture.network(), trained, data, network_metadata(space, architecture, data));
  if (!files.onnx.empty()) store::publish_file(files.onnx, model_export::onnx_bytes(model));
  if (!files.weights.empty()) store::publish_file(files.weights, model_export::safetensors_bytes(model));
  if (!files.pytorch.empty()) {
    store::publish_file(files.pytorch,
                        model_export::pytorch_source(model, files.weights.filename().string()));
  }
}

/// Returns the constraints on measured metrics.
std::vector<evaluate::MetricBound> bounds_of(const objective::ObjectiveSet& objectives) {
  std::vector<evaluate::MetricBound> bounds;
  for (const objective::Constraint& constraint : objectives.constraints()) {
    if (!constraint.computed) bounds.push_back({constraint.metric, {constraint.low, constraint.high}});
  }
  return bounds;
}

}  // namespace

RunConfig RunConfig::parse(const ConfigNode& written, bool verify_data, std::size_t slots) {
  return ConfigParser(with_implied_evaluator(written), slots)
      .parse(verify_data ? DataCheck::kVerified : DataCheck::kOpened);
}

RunConfig RunConfig::read(const ConfigNode& written) {
  return ConfigParser(with_implied_evaluator(written), 1).parse(DataCheck::kStated);
}

void RunConfig::open_data(const ConfigNode& section) {
  if (dataset == nullptr) dataset = store::Dataset::open(sections.data.file, false);
  describe_data(section, *dataset, sections.data);
  split = split_data(section, *dataset, sections.data, sections.run.seed);
}

engine::EngineOptions RunConfig::engine_options() const {
  engine::EngineOptions options = static_cast<const engine::EngineOptions&>(sections.run);
  if (!evaluator.needs.leaves_state()) options.keep_weights = engine::KeepWeights::kNone;
  options.checkpoints = sections.checkpoint;
  options.threads_per_slot = evaluator.needs.threads;
  options.inherit = evaluator.needs.inherits;
  options.folders = evaluator.needs.folders;
  options.inherit_key = evaluator.kind->inherit_key;
  options.members_key = evaluator.kind->members_key;
  return options;
}

std::unique_ptr<search::Searcher> RunConfig::make_searcher(const search::SearchPrograms& programs) const {
  try {
    return search::make_searcher(sections.search, space, objectives, sections.run.seed,
                                 {evaluator.needs.epochs}, known.results, programs);
  } catch (const search::NoValidArchitecture& problem) {
    if (const ConfigNode* constraints = resolved.find("constraints")) constraints->fail(problem.what());
    throw;
  }
}

std::vector<search::ArchitecturePointer> RunConfig::draw_valid(std::size_t count) const {
  constexpr double kLongest_s = 2;
  search::CandidatePool pool(space, objectives);
  RandomStream random(derive_seed(sections.run.seed, "app.draw_valid"));
  const auto start = std::chrono::steady_clock::now();
  std::vector<search::ArchitecturePointer> drawn;
  while (drawn.size() < count && (drawn.empty() || seconds_since(start) < kLongest_s)) {
    drawn.push_back(pool.draw(random));
    pool.unmark_proposed(drawn.back()->id);  // may be drawn again
  }
  return drawn;
}

std::optional<trial::Budget> RunConfig::final_budget() const {
  if (!sections.final_training) return std::nullopt;
  return trial::Budget{sections.final_training->epochs};
}

std::unique_ptr<trial::Evaluator> RunConfig::make_evaluator(
    const evaluate::EvaluatorServices& services) const {
  return evaluator.kind->make(evaluator.section, services);
}

store::JournalHeader RunConfig::journal_header(const trial::Evaluator& made) const {
  return {
      .skyline_version = program_version(),
      .config_hash = identity_hash(),
      .seed = sections.run.seed,
      .metrics = metrics,
      .device = made.device(),
      .deterministic = evaluator.needs.deterministic,
      .pruning = search::pruning_of(sections.search).has_value(),
      .conditions = space.has_conditions() ? space::ConditionRules::kExact : space::ConditionRules::kBinary};
}

store::Checksums RunConfig::programs() const {
  return evaluator.kind->programs ? evaluator.kind->programs(evaluator.section) : store::Checksums();
}

std::string RunConfig::identity_hash() const {
  return sha256_hex(to_yaml(identity_of(resolved)));
}

evaluate::EvaluatorServices RunConfig::services() const {
  const std::string& file = sections.data.file;
  return {.dataset = dataset,
          .split = split,
          .normalization = sections.data.normalization,
          .seed = sections.run.seed,
          .wanted = objectives.measured_needed(),
          .bounds = bounds_of(objectives),
          .memory_bytes = sections.run.memory_bytes,
          .space = space,
          .data_file = file.empty() ? std::filesystem::path() : std::filesystem::absolute(file),
          .write_network = [space = space](
                               const space::Architecture& architecture,
                               const std::filesystem::path& to) { write_network(space, architecture, to); },
          .write_model =
              [space = space, data = sections.data](const space::Architecture& architecture,
                                                    std::vector<trial::NamedTensor> weights,
                                                    const evaluate::ModelFiles& to) {
                write_model(space, data, architecture, std::move(weights), to);
              },
          .written = evaluator.written};
}

}  // namespace skyline::app
