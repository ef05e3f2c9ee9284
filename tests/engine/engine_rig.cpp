#include "engine/engine_rig.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/search/algorithm.hpp"

#include "comm/environment.hpp"
#include "engine/dispatch/dispatcher.hpp"
#include "engine/loop/front_training.hpp"
#include "support/yaml_config.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include <unistd.h>

namespace skyline::engine {
namespace {

constexpr const char* kSpace = R"(
parameters:
  depth: {range: [1, 4]}
  width: {choice: [4, 8, 16, 32]}
  kernel: {choice: [1, 3]}
network:
  - repeat: $depth
    body:
      - conv2d: {channels: $width, kernel: $kernel, padding: same}
      - relu
  - global_average_pool
  - linear: {features: $classes}
)";

bool leads(trial::EvaluationContext& context) {
  return context.group() == nullptr || context.group()->member() == 0;
}

/// A sum over the members whose last bits depend on the order of adding.
double group_sum(const trial::Trial& trial, trial::TrialGroup& group) {
  constexpr std::size_t kValues = 100;
  RandomStream random(derive_seed(trial.seed, "member", {group.member()}));
  std::vector<float> values(kValues);
  for (float& value : values) value = static_cast<float>(random.uniform());
  group.all_reduce(values)->wait();
  double total = 0;
  for (const float value : values) total += static_cast<double>(value);
  return total;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "skyline_engine_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

const space::SearchSpace& test_space() {
  static const auto space =
      space::SearchSpace::parse(testing::config_from_yaml(kSpace, "space.yaml", "space"), {{1, 8, 8}, 10});
  return space;
}

const objective::ObjectiveSet& test_objectives() {
  static const auto objectives = objective::ObjectiveSet::parse(
      testing::config_from_yaml("[{maximize: validation_accuracy}, {minimize: flops}]"), nullptr,
      evaluate::synthetic_kind().metrics);
  return objectives;
}

HookedEvaluator::HookedEvaluator(TrialScript script)
    : synthetic_(evaluate::make_synthetic_evaluator({})), script_(std::move(script)) {}

trial::Outcome HookedEvaluator::evaluate(const trial::Trial& trial, trial::EvaluationContext& context) {
  ++calls_;
  const std::size_t members = context.group() == nullptr ? 1 : context.group()->members();
  require(members == trial.members, "a trial was given another group than it is to have");
  if (script_.hook) script_.hook(trial);
  Progress progress = begin(trial, context);
  if (!do_steps(trial, context, progress)) return trial::Failure{trial::FailureKind::kStopped, "held"};
  if (context.weights().wanted()) {
    context.weights().keep({{"linear_0.bias", {1}, {static_cast<float>(trial.number)}}});
  }
  const double sum = context.group() == nullptr ? 0 : group_sum(trial, *context.group());
  trial::Outcome outcome = synthetic_->evaluate(trial, context);
  if (auto* measured = std::get_if<trial::Measurements>(&outcome)) measured->values[1] += sum + progress.sum;
  if (Arrival{trial.name(), outcome, {}}.stopped()) {  // after its last step
    if (script_.saves_at_stop) context.state().save([&](auto& state) { fill(state, progress); });
    return outcome;
  }
  if (trial.may_be_continued()) context.state().save_last([&](auto& state) { fill(state, progress); });
  if (!leads(context)) return outcome;
  const std::lock_guard lock(mutex_);
  completed_.push_back(to_text(trial.name()));
  return outcome;
}

void HookedEvaluator::fill(trial::TrainingState& state, const Progress& progress) {
  state.step = static_cast<std::int64_t>(progress.step);
  state.numbers = {{"sum", progress.sum}};
}

std::int64_t HookedEvaluator::steps_of(const trial::Trial& trial) const {
  if (!script_.steps_by_budget) return script_.steps;
  return std::llround(static_cast<double>(script_.steps) * trial.budget().epochs);
}

/// Where the trial begins or goes on: the same for all members of a group.
HookedEvaluator::Progress HookedEvaluator::begin(const trial::Trial& trial,
                                                 trial::EvaluationContext& context) {
  Progress progress;
  if (const trial::TrainingState* saved = context.state().saved()) {
    progress = {static_cast<double>(saved->step), saved->numbers.at(0).value};
  } else if (const auto weights = context.weights().inherited()) {
    const std::lock_guard lock(mutex_);
    heirs_[trial.number] = static_cast<trial::TrialNumber>(weights->at(0).values.at(0));
  }
  if (context.group() != nullptr) {
    context.group()->broadcast(std::as_writable_bytes(std::span(&progress, 1)));
  }
  return progress;
}

/// Any member's request stops all.
bool HookedEvaluator::must_stop(const trial::Trial& trial, trial::EvaluationContext& context,
                                double step) const {
  const auto steps = static_cast<double>(steps_of(trial));
  const bool held = script_.held && leads(context) && 2 * step == steps && script_.held(trial);
  while (held && !context.control().stop_requested())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  double requests = context.control().stop_requested() ? 1 : 0;
  if (context.group() != nullptr) context.group()->sum(std::span(&requests, 1));
  return requests > 0;
}

/// Returns whether the trial went on to its end.
bool HookedEvaluator::do_steps(const trial::Trial& trial, trial::EvaluationContext& context,
                               Progress& progress) {
  const auto steps = static_cast<double>(steps_of(trial));
  const double first = progress.step;
  const auto save = [&] { context.state().save([&](auto& state) { fill(state, progress); }); };
  while (progress.step < steps) {
    if (must_stop(trial, context, progress.step)) {
      if (script_.saves_at_stop && progress.step > first) save();  // else there is nothing new
      return false;
    }
    const auto step = static_cast<std::uint64_t>(++progress.step);
    progress.sum += RandomStream(derive_seed(trial.seed, "step", {step})).uniform();
    if (script_.member_hook && context.group() != nullptr) {
      script_.member_hook(trial, context.group()->member());
    }
    if (leads(context)) {
      const std::lock_guard lock(mutex_);
      ++steps_[to_text(trial.name())];
    }
    if (context.state().due(progress.step / steps * trial.budget().epochs)) save();
  }
  return true;
}

std::vector<std::string> HookedEvaluator::completed() const {
  std::vector<std::string> sorted = completed_;
  std::ranges::sort(sorted);
  return sorted;
}

void CountingObserver::phase_begun(const run::RunState& state) {
  (state.phase() == trial::Phase::kFinal ? expected_final : expected) = state.expected(state.phase());
}

void CountingObserver::committed(const run::Commit& commit, const run::RunState& state) {
  if (commit.replayed) {
    ++replayed;
    return;
  }
  positions.push_back(commit.trial->position);
  most_in_flight = std::max(most_in_flight, state.in_flight());
}

RunSpec evolution_spec(std::size_t iterations) {
  RunSpec spec;
  spec.search =
      testing::config_from_yaml("{algorithm: evolution_pareto, iterations: " + std::to_string(iterations) +
                                ", initial: 6, max_unseen: 8}");
  spec.options.seed = 5;
  spec.epochs = 0.25;
  spec.final_epochs = 2;
  spec.options.keep_weights = KeepWeights::kNone;
  spec.options.slots = 1;
  return spec;
}

RigResult tables_of(const RunResult& result) {
  RigResult tables;
  for (const run::SharedTrial& committed : result.state.trials()) {
    tables.committed.push_back(*committed);
    tables.on_front.push_back(result.state.on_front(committed->trial.number));
  }
  tables.finish_reason = result.finish_reason;
  tables.stopped = result.stopped;
  tables.unsaved = result.unsaved;
  tables.account = result.account;
  return tables;
}

RigRun run_in(comm::Environment& environment, const std::filesystem::path& root, const RunSpec& spec,
              bool resume) {
  RigRun run;
  const store::RunPaths paths{root};
  HookedEvaluator evaluator({spec.hook, spec.held, spec.steps, spec.steps_by_budget, spec.saves_at_stop,
                             spec.members, spec.member_hook, spec.admits_groups});
  run.observer.on_asked = spec.asked;
  store::JournalHeader header;
  header.skyline_version = "0";
  header.config_hash = "0";
  header.seed = spec.options.seed;
  header.metrics = evaluate::synthetic_kind().metrics;
  store::StorageThread storage;
  SearchTask task{test_space(), test_objectives(), evaluator, {}, {}, spec.options};
  task.search = [&spec](const run::RunState&) {
    if (spec.searcher) return spec.searcher();
    return search::make_searcher(spec.search, test_space(), test_objectives(), spec.options.seed,
                                 {spec.epochs});
  };
  if (spec.final_epochs) {
    task.full_training = [&spec](const run::RunState& state) {
      return std::make_unique<FrontTraining>(state, state.front().keys(), trial::Budget{*spec.final_epochs});
    };
  }
  task.options.resume = resume;
  std::optional<store::JournalContents> replay;
  if (environment.world().rank() == 0) {
    std::filesystem::create_directories(root / "weights");
    std::filesystem::create_directories(root / "checkpoints");
    if (resume) {
      replay = store::read_journal(paths.journal(), test_space());
      store::settle_journal(paths.journal(), *replay);
    }
  }
  comm::wait(*environment.world().barrier());
  run.result =
      tables_of(engine::run_job(environment, task, {paths, header, storage},
                                {spec.stop_requested, spec.failed}, std::move(replay), {&run.observer}));
  run.evaluations = evaluator.calls();
  run.completed = evaluator.completed();
  run.steps = evaluator.steps();
  run.heirs = evaluator.heirs();
  return run;
}

std::string canonical_of_one_process(const RunSpec& spec) {
  const TemporaryFolder folder;
  const auto environment = comm::make_local_environment();
  run_in(*environment, folder.path(), spec);
  return store::canonical_journal(store::RunPaths{folder.path()}.journal());
}

std::vector<std::string> weight_ids(const std::filesystem::path& root) {
  std::vector<std::string> ids;
  for (const auto& entry : std::filesystem::directory_iterator(root / "weights")) {
    ids.push_back(entry.path().stem().string());
  }
  std::ranges::sort(ids);
  return ids;
}

}  // namespace skyline::engine
