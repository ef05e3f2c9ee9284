#include "app/config/run_config.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/store/importer.hpp"

#include "core/backoff.hpp"
#include "core/config/config_errors.hpp"
#include "core/config/config_text.hpp"
#include "core/system/home_path.hpp"
#include "core/text/hash.hpp"
#include "space/language/searched_section.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <vector>

namespace skyline::app {
namespace {

/// States what the data set is; where the section has stated it, it must be that.
void describe_data(const ConfigNode& section, const store::Dataset& dataset, DataOptions& data) {
  const ConfigNode* hash = section.find("sha256");
  if (hash != nullptr && hash->as_text() != dataset.content_hash()) {
    hash->fail("the data set's checksum is " + dataset.content_hash() + ", expected " + hash->as_text() +
               ": not the same data");
  }
  data.sha256 = dataset.content_hash();
  data.shape = dataset.shape();
  data.targets = dataset.train().target_kind();
  data.classes = static_cast<std::int64_t>(dataset.class_names().size());
  data.class_names = dataset.class_names();
  data.mean = dataset.mean();
  data.deviation = dataset.deviation();
  data.value_scale = dataset.value_scale();
  if (!data.validation && dataset.validation().count == 0) data.validation = store::kHeldOutShare;
  const ConfigNode found = DataOptions::table().to_config(data);
  for (const char* key : {"shape", "targets", "classes", "class_names", "mean", "deviation", "value_scale"}) {
    const ConfigNode* stated = section.find(key);
    const auto entry = [&](const ConfigNode& value) { return ConfigNode::make_map({{key, value, {}}}, {}); };
    if (stated == nullptr || first_difference(entry(*stated), entry(found.at(key))).empty()) continue;
    stated->fail("is not that of " + data.file + ": leave the key out");
  }
}

/// The command that makes a data set file, as far as its name tells.
std::string prep_line(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  const std::string kind = store::find_importer(stem) == nullptr ? "images" : stem;
  const std::string sources = store::find_importer(kind)->sources();
  return "skyline prep " + kind + (sources.starts_with('[') ? "" : " " + sources) + " -o " + file.string();
}

/// The data set file: seen from where the program starts, else from the configuration's folder.
std::string locate_data(const ConfigNode& node, const std::string& given) {
  const std::string file = expand_home(given);
  const auto is_missing = [](const std::filesystem::path& path) {
    std::error_code failure;  // other failures are reported when it is opened
    return std::filesystem::status(path, failure).type() == std::filesystem::file_type::not_found;
  };
  if (!is_missing(file)) return file;
  const auto beside = std::filesystem::path(node.position().file).parent_path() / file;
  if (!is_missing(beside)) return beside.lexically_normal().string();
  node.fail("there is no " + file +
            ", nor is it beside the configuration; make it, e.g.: " + prep_line(file));
}

store::SplitIndices split_data(const ConfigNode& section, const RunConfig& config) {
  try {
    return store::split_dataset(*config.dataset, config.sections.data.validation,
                                config.sections.data.validation_limit,
                                derive_seed(config.sections.run.seed, "validation split"));
  } catch (const UserError& error) {
    const ConfigNode* share = section.find("validation");
    (share != nullptr ? *share : section).fail(error.what());
  }
}

ChosenEvaluator choose_evaluator(const ConfigSections& sections) {
  const evaluate::EvaluatorKind* kind = evaluate::find_evaluator(sections.evaluator);
  return {kind, sections.evaluator_section, kind->needs(sections.evaluator_section)};
}

void check_keeps_parents(const ConfigNode& root, const RunConfig& config) {
  if (!config.evaluator.needs.inherits) return;
  if (config.sections.run.keep_weights != engine::KeepWeights::kNone) return;
  const std::string& key = config.evaluator.kind->inherit_key;
  root.at("run")
      .at("keep_weights")
      .fail("expected `front` or `all`" + (key.empty() ? "" : " beside `" + key + ": true`") +
            ", got none: children start from their parents' weights");
}

/// The evaluator's section, in which parameters of the space may give values.
space::SearchedSection searched_section(const ConfigNode& root) {
  const ConfigNode* space = root.is_map() ? root.find("space") : nullptr;
  for (const std::string& name : evaluate::evaluator_names()) {
    const ConfigNode* section = root.is_map() ? root.find(name) : nullptr;
    if (section == nullptr || !section->is_map() || space == nullptr || !space->is_map()) continue;
    const evaluate::EvaluatorKind& kind = *evaluate::find_evaluator(name);
    return {*section, *space, kind.searchable, kind.keys->names()};
  }
  return {};
}

/// The configuration with the values that the first genotype gives to the evaluator's section.
/// @throws UserError for values that it cannot have
ConfigNode with_first_values(ConfigNode root, const space::SearchedSection& searched) {
  if (searched.written().empty()) return root;
  const ConfigNode section = searched.with_first_values();
  const KeyTable& keys = *evaluate::find_evaluator(section.path())->keys;
  searched.check([&](const ConfigNode& tried) { (void)keys.complete(tried); });
  root.set(section.path(), section);
  root.assign_paths();
  return root;
}

/// The part of a configuration that needs no data.
RunConfig read_sections(const ConfigNode& root, const OptionTable<ConfigSections>& table) {
  if (!root.is_map()) root.fail_expected("a map with the sections data, space, objectives, search, ...");
  RunConfig config;
  config.sections = table.parse(root);
  config.evaluator = choose_evaluator(config.sections);
  check_keeps_parents(root, config);
  if (config.evaluator.needs.data && config.sections.data.file.empty()) {
    root.at("data").fail("missing key `file`");
  }
  return config;
}

/// The mistakes of a space where the sections have some, too; none if the shape of the data is not known.
void check_space(const ConfigNode& root, const space::SearchedSection& searched) {
  const ConfigNode* data = root.is_map() ? root.find("data") : nullptr;
  const ConfigNode* space = root.is_map() ? root.find("space") : nullptr;
  if (data == nullptr || space == nullptr) return;
  space::DataShape shape;
  try {
    const DataOptions options = DataOptions::table().parse(*data);
    if (options.file.empty()) {
      shape = {options.shape.value(), options.classes.value()};
    } else {
      const auto dataset = store::Dataset::open(locate_data(data->at("file"), options.file), false);
      shape = {dataset->shape(), static_cast<std::int64_t>(dataset->class_names().size())};
    }
  } catch (const std::exception&) {  // reported, or to be reported once the sections are right
    return;
  }
  (void)space::SearchSpace::parse(*space, shape, searched.written());
}

/// The mistakes of objectives and constraints where the sections have some, too; whatever the one evaluator
/// may measure is known here.
void check_objectives(const ConfigNode& root) {
  const auto find = [&](const std::string& key) { return root.is_map() ? root.find(key) : nullptr; };
  const ConfigNode* objectives = find("objectives");
  std::vector<std::string> named = evaluate::evaluator_names();
  std::erase_if(named, [&](const std::string& name) { return find(name) == nullptr; });
  if (objectives == nullptr || named.size() != 1) return;
  const evaluate::EvaluatorKind& kind = *evaluate::find_evaluator(named.front());
  (void)objective::ObjectiveSet::parse(*objectives, find("constraints"), kind.metrics, kind.final_metrics);
}

/// The rest.
void build(RunConfig& config, const ConfigNode& root, const OptionTable<ConfigSections>& table,
           const space::SearchedSection& searched) {
  const ConfigSections& sections = config.sections;
  if (!sections.data.shape) (void)root.at("data").at("shape");
  if (!sections.data.classes) (void)root.at("data").at("classes");
  config.shape = {sections.data.shape.value(), sections.data.classes.value()};
  const evaluate::EvaluatorKind& kind = *config.evaluator.kind;
  Mistakes mistakes;
  mistakes.attempt(
      [&] { config.space = space::SearchSpace::parse(sections.space, config.shape, searched.written()); });
  const store::TargetKind targets = sections.data.targets.value_or(store::TargetKind::kClasses);
  config.metrics = kind.measured ? kind.measured(config.evaluator.section, targets) : kind.metrics;
  mistakes.attempt([&] {
    config.objectives = objective::ObjectiveSet::parse(sections.objectives, &sections.constraints,
                                                       config.metrics, kind.final_metrics);
  });
  mistakes.throw_if_any();
  config.objectives.complete_references(config.space);
  config.sections.objectives = config.objectives.to_config();
  config.resolved = table.to_config(sections);
  for (const ConfigNode& scalar : searched.written()) config.resolved.set(scalar.path(), scalar);
  config.resolved.assign_paths();
}

/// Whether the data are such as the evaluator's section asks for, with whatever values parameters give to it.
void check_section(const ConfigNode& root, const RunConfig& config, const space::SearchedSection& searched) {
  const evaluate::EvaluatorKind& kind = *config.evaluator.kind;
  if (!kind.check) return;
  const auto check = [&](const ConfigNode& section) { kind.check(section, *config.dataset, config.split); };
  if (!searched.written().empty()) return searched.check(check);
  const ConfigNode* written = root.find(kind.name);
  check(written != nullptr ? *written : root);
}

/// Equal numbers as equal text.
ConfigNode canonical_scalar(const ConfigNode& node) {
  if (node.quoted()) return node;
  if (const auto integer = integer_in(node.as_text())) return ConfigNode::make_integer(*integer);
  if (const auto number = number_in(node.as_text())) {
    return ConfigNode::make_scalar(objective::number_text(*number), {});
  }
  return node;
}

/// Whether parameters of the space have a value at each place that names them.
bool has_places(const ConfigNode& root) {
  const ConfigNode* parameters = root.at("space").find("parameters");
  if (parameters == nullptr || !parameters->is_map()) return false;
  return std::ranges::any_of(parameters->entries(), [](const ConfigNode::Entry& parameter) {
    const ConfigNode* each = parameter.value.is_map() ? parameter.value.find("each") : nullptr;
    return each != nullptr && flag_in(each->as_text()).value_or(false);
  });
}

/// Whether the order of keys is that of the genotype: that of parameters; below a space where some have a
/// value at each place, that of the places. A cell's last node is its output.
bool is_ordered(const ConfigNode& node, bool has_places) {
  return node.path() == "space.parameters" || node.path().ends_with(".cell") ||
         (has_places && node.path().starts_with("space."));
}

/// The same text for equal trees.
/// @param has_places  whether parameters of the space have a value at each place
ConfigNode canonical(const ConfigNode& node, bool has_places) {
  if (node.is_scalar()) return canonical_scalar(node);
  if (node.is_list()) {
    std::vector<ConfigNode> items;
    for (const ConfigNode& item : node.items()) items.push_back(canonical(item, has_places));
    return ConfigNode::make_list(std::move(items), {});
  }
  if (!node.is_map()) return node;
  std::vector<ConfigNode::Entry> entries;
  for (const ConfigNode::Entry& entry : node.entries()) {
    entries.push_back({entry.key, canonical(entry.value, has_places), {}});
  }
  if (!is_ordered(node, has_places)) std::ranges::sort(entries, {}, &ConfigNode::Entry::key);
  return ConfigNode::make_map(std::move(entries), {});
}

bool inherits(const ConfigNode& written) {
  const ConfigNode resolved = with_first_values(written, searched_section(written));
  return std::ranges::any_of(resolved.entries(), [](const ConfigNode::Entry& entry) {
    const evaluate::EvaluatorKind* kind = evaluate::find_evaluator(entry.key);
    return kind != nullptr && kind->needs(entry.value).inherits;
  });
}

/// A file that a person wrote. YAML takes some hundred times its size in memory while it is read.
ConfigNode load_written_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t kMostBytes = 4U << 20U;
  std::error_code failure;  // reported when the file is read
  const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
  if (!failure && bytes > kMostBytes) {
    throw UserError(path.string() + ": expected a configuration of at most 4 MiB, got " +
                    std::to_string(bytes >> 20U) + " MiB");
  }
  return store::load_yaml_file(path);
}

/// Puts the file that the section `space` names, if it names one, in its place.
/// @param path  the configuration, beside which it is
void load_space(ConfigNode& root, const std::filesystem::path& path) {
  const ConfigNode* space = root.is_map() ? root.find("space") : nullptr;
  const ConfigNode* file = space != nullptr && space->is_map() ? space->find("file") : nullptr;
  if (file == nullptr) return;
  if (space->entries().size() > 1) file->fail("stands beside other keys: the file holds the whole section");
  ConfigNode section;
  try {
    section = load_written_file(path.parent_path() / file->as_text());
  } catch (const UserError& problem) {
    if (std::filesystem::exists(path.parent_path() / file->as_text())) throw;
    file->fail(problem.what());
  }
  root.set("space", std::move(section));
  root.assign_paths();
}

}  // namespace

ConfigNode identity_of(const ConfigNode& resolved) {
  ConfigNode tree = all_sections().identity(resolved);
  // With inheritance the weights that are kept say which parents have any.
  if (inherits(resolved)) tree.set("run.keep_weights", resolved.at("run").at("keep_weights"));
  tree.assign_paths();
  return canonical(tree, has_places(tree));
}

ConfigNode load_config(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  ConfigNode root = load_written_file(path);
  const auto is_within_space = [](const std::string& assignment) {
    return assignment.starts_with("space.") && !assignment.starts_with("space.file=");
  };
  for (const std::string& assignment : overrides) {
    if (!is_within_space(assignment)) apply_override(root, assignment);
  }
  load_space(root, path);
  for (const std::string& assignment : overrides) {
    if (is_within_space(assignment)) apply_override(root, assignment);
  }
  return root;
}

RunConfig RunConfig::parse(const ConfigNode& written, bool verify_data) {
  const OptionTable<ConfigSections> table = all_sections();
  const space::SearchedSection searched = searched_section(written);
  ConfigNode root = written;
  RunConfig config;
  Mistakes mistakes;
  mistakes.attempt([&] { root = with_first_values(written, searched); });
  Mistakes others;
  others.attempt([&] {
    config = read_sections(root, table);
    std::string& file = config.sections.data.file;
    if (file.empty()) return;
    file = locate_data(root.at("data").at("file"), file);
    config.open_data(root.at("data"), verify_data);
    check_section(root, config, searched);
  });
  if (!mistakes.empty() || !others.empty()) {
    others.attempt([&] { check_space(root, searched); });
    others.attempt([&] { check_objectives(root); });
  }
  for (const std::string& line : others.lines()) {
    // Wrong values leave the section as it is written, and are told of already.
    if (mistakes.empty() || !searched.is_named_in(line)) mistakes.add(line);
  }
  mistakes.throw_if_any();
  build(config, root, table, searched);
  return config;
}

RunConfig RunConfig::read(const ConfigNode& written) {
  const OptionTable<ConfigSections> table = all_sections();
  const space::SearchedSection searched = searched_section(written);
  const ConfigNode root = with_first_values(written, searched);
  RunConfig config = read_sections(root, table);
  build(config, root, table, searched);
  return config;
}

void RunConfig::open_data(const ConfigNode& section, bool verify_data) {
  dataset = store::Dataset::open(sections.data.file, verify_data);
  if (dataset->train().count == 0) throw UserError(sections.data.file + ": the training set is empty");
  describe_data(section, *dataset, sections.data);
  split = split_data(section, *this);
}

engine::EngineOptions RunConfig::engine_options() const {
  engine::EngineOptions options = static_cast<const engine::EngineOptions&>(sections.run);
  if (!evaluator.needs.weights) options.keep_weights = engine::KeepWeights::kNone;
  options.checkpoints = sections.checkpoint;
  options.threads_per_slot = evaluator.needs.threads;
  options.inherit = evaluator.needs.inherits;
  options.inherit_key = evaluator.kind->inherit_key;
  options.members_key = evaluator.kind->members_key;
  return options;
}

std::unique_ptr<search::Searcher> RunConfig::make_searcher() const {
  return search::make_searcher(sections.search, space, objectives, sections.run.seed,
                               {evaluator.needs.epochs});
}

std::vector<search::ArchitecturePointer> RunConfig::draw_valid(std::size_t count) const {
  constexpr double kLongest_s = 2;
  search::CandidatePool pool(space, objectives);
  RandomStream random(derive_seed(sections.run.seed, "app.draw_valid"));
  const auto start = std::chrono::steady_clock::now();
  std::vector<search::ArchitecturePointer> drawn;
  while (drawn.size() < count && (drawn.empty() || seconds_since(start) < kLongest_s)) {
    drawn.push_back(pool.draw(random));
    pool.release(drawn.back()->id);  // to be drawn again
  }
  return drawn;
}

std::optional<trial::Budget> RunConfig::final_budget() const {
  if (!sections.final_training) return std::nullopt;
  return trial::Budget{sections.final_training->epochs};
}

evaluate::EvaluatorServices RunConfig::services() const {
  return {.dataset = dataset,
          .split = split,
          .normalization = sections.data.normalization,
          .wanted = objectives.measured_needed(),
          .memory_bytes = sections.run.memory_bytes};
}

std::unique_ptr<trial::Evaluator> RunConfig::make_evaluator(
    const evaluate::EvaluatorServices& services) const {
  return evaluator.kind->make(evaluator.section, services);
}

std::string RunConfig::identity_hash() const {
  return sha256_hex(to_yaml(identity_of(resolved)));
}

std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right) {
  return first_difference(identity_of(left), identity_of(right));
}

}  // namespace skyline::app
