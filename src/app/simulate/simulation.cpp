#include "app/simulate/simulation.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/search/pruning.hpp"

#include "app/config/configuration_warnings.hpp"
#include "app/simulate/simulated_searches.hpp"
#include "engine/loop/search_loop.hpp"
#include "evaluate/synthetic/synthetic_evaluator.hpp"
#include "trial/forwarding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace skyline::app {
namespace {

constexpr std::size_t kDrawn = 1000;  // number of architectures
constexpr const char* kTime = "app.simulation.time";
constexpr const char* kError = "app.simulation.error";
constexpr const char* kResult = "app.simulation.result";

/// Returns an invented value within the range of a metric, which is as wide as 1 where it is open.
/// @param share  from 0 to 1
double value_in(const trial::MetricRange& range, double share) {
  const double low = std::isfinite(range.low) ? range.low : std::min(0.0, range.high - 1);
  return low + share * (std::isfinite(range.high) ? range.high - low : 1);
}

}  // namespace

TimeLaw measured_law(const run::OpenedRun& run) {
  std::vector<double> times;
  for (const run::SharedTrial& committed : run.state.trials()) {
    const trial::Trial& trial = committed->trial;
    const double work = static_cast<double>(trial.cost) / trial.members;
    const double seconds = committed->timing.total_s();
    if (trial::is_whole(committed->outcome) && !trial.is_final() && seconds > 0)
      times.push_back(seconds / work);
  }
  if (times.empty()) throw UserError(run.paths.root.string() + ": no trial has been trained");
  double sum = 0;
  double squares = 0;
  for (const double time : times) {
    sum += time;
    squares += time * time;
  }
  const double mean = sum / static_cast<double>(times.size());
  const double variance = std::max(0.0, squares / static_cast<double>(times.size()) - mean * mean);
  return {.forecast_error = std::sqrt(variance) / mean, .measured = std::move(times)};
}

/// The forecast of costs: by the configuration's evaluator, or by the law.
class Simulation::Costs final : public trial::ForwardingEvaluator {
 public:
  Costs(const RunConfig& config, const TimeLaw& law)
      : ForwardingEvaluator(config.make_evaluator(config.services())),
        seed_(config.sections.run.seed),
        law_(law) {}

  double predicted_cost(const trial::Trial& trial) const override {
    if (!law_.cv) return ForwardingEvaluator::predicted_cost(trial);
    constexpr double kUnits = 1e9;  // cost of a trial of mean length
    const double time = evaluate::lognormal(seed_, kTime, trial.number, *law_.cv);
    return kUnits * time * evaluate::lognormal(seed_, kError, trial.number, law_.forecast_error);
  }
  trial::Outcome evaluate(const trial::Trial& /*trial*/, trial::EvaluationContext& /*context*/) override {
    throw InternalError("a simulated trial is evaluated");
  }

 private:
  const std::uint64_t seed_;
  const TimeLaw& law_;
};

Simulation::Simulation(const RunConfig& config, Options options)
    : config_(config),
      options_(std::move(options)),
      drawn_(config.draw_valid(kDrawn)),
      costs_(std::make_unique<Costs>(config, options_.law)),
      searcher_(config.make_searcher()),
      trials_(options_.trials.value_or(searcher_->expected_trials())) {
  if (options_.with_search && config.sections.costs)
    config.resolved.at("costs").fail("a simulation asks no program: leave out --search");
  if (search::pruning_of(config.sections.search))
    config.resolved.at("search").at("pruning").fail("a simulation has no learning curves: leave the key out");
  if (!options_.with_search && lacks_window(config, *searcher_)) {
    throw UserError(
        "run.window: without one, the search waits until all trials in flight are committed; set it, or "
        "simulate the search itself with --search");
  }
  double work = 0;
  for (const auto& architecture : drawn_) {
    trial::Trial trial;
    trial.proposal.architecture = architecture;
    trial.proposal.budget = {config.evaluator.needs.epochs};
    work += costs_->predicted_cost(trial) / costs_->members_for(trial);
  }
  seconds_per_cost_ = options_.law.mean_s * static_cast<double>(drawn_.size()) / work;
}

Simulation::~Simulation() = default;

engine::FleetUse Simulation::run(std::size_t slots) const {
  const engine::EngineOptions options = config_.engine_options();
  if (options_.with_search) {
    const auto searcher = config_.make_searcher();
    return run(slots, options, *searcher);
  }
  DrawnSearch searcher(drawn_, {config_.evaluator.needs.epochs}, trials_, searcher_->generation(),
                       searcher_->needs_results());
  return run(slots, options, searcher);
}

engine::FleetUse Simulation::run_steady(std::size_t slots, std::size_t trials,
                                        const engine::EngineOptions& options) const {
  DrawnSearch searcher(drawn_, {config_.evaluator.needs.epochs}, trials, {}, true);
  return run(slots, options, searcher);
}

engine::FleetUse Simulation::run(std::size_t slots, const engine::EngineOptions& options,
                                 search::Searcher& searcher) const {
  engine::SimulatedFleet fleet(slots, [this](const trial::Trial& trial) { return play(trial); });
  run::RunState state(config_.objectives, search::repeats_of(config_.sections.search));
  state.account() = run::SlotUsage(fleet.slots());
  engine::TrialMaker maker(options, *costs_, state);
  engine::Replay nothing;
  const auto order = engine::make_commit_order(options);
  engine::SearchLoop loop(maker, nothing, *order, fleet, fleet, state, {}, [] { return false; });
  ThinkingSearch thinking(searcher, fleet, options_.think_s);
  loop.run(thinking, trial::Phase::kSearch);
  return fleet.use();
}

/// Returns the time and the result of a trial. The result matters only if the search is simulated, too;
/// otherwise a failure is the cheapest result.
std::pair<double, trial::Outcome> Simulation::play(const trial::Trial& trial) const {
  const TimeLaw& law = options_.law;
  const std::uint64_t seed = config_.sections.run.seed;
  const double work = static_cast<double>(trial.cost) / trial.members;
  double seconds = 0;
  if (law.cv) {
    seconds = law.mean_s * evaluate::lognormal(seed, kTime, trial.number, *law.cv);
  } else if (!law.measured.empty()) {
    seconds = work * law.measured[derive_seed(seed, kError, {trial.number}) % law.measured.size()];
  } else {
    seconds = work * seconds_per_cost_ * evaluate::lognormal(seed, kError, trial.number, law.forecast_error);
  }
  if (!options_.with_search) return {seconds, trial::Failure{trial::FailureKind::kException, {}}};
  trial::Measurements measurements;
  for (std::size_t metric = 0; metric < config_.metrics.size(); ++metric) {
    const double share = RandomStream(derive_seed(trial.seed, kResult, {metric})).uniform();
    measurements.values.push_back(value_in(config_.metrics[metric].range, share));
  }
  return {seconds, std::move(measurements)};
}

}  // namespace skyline::app
