#include "engine/slots/known_values.hpp"

#include "skyline/core/error.hpp"

#include "store/journal/trial_json.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>

namespace skyline::engine {

bool asks_before(const std::vector<trial::Metric>& metrics) {
  return std::ranges::any_of(metrics, &trial::Metric::is_before);
}

KnownValues::KnownValues(std::shared_ptr<RankValues> rank, const trial::Trial& trial)
    : rank_(std::move(rank)), trial_(trial), provenance_(store::provenance(trial, rank_->files.stamp())) {
  const RunFiles& files = rank_->files;
  try {
    values_ = store::read_known_values(files.paths, trial.name(), provenance_, files.header.metrics);
  } catch (const Problem& problem) {
    rank_->warning->warn(std::string(problem.what()) + "; programs of trials are asked and report again");
  }
}

trial::EarlyValues::ByMetric KnownValues::of_search() const {
  if (!trial_.is_final()) return {};
  try {
    return store::read_searched_values(rank_->files.paths, trial_);
  } catch (const Problem& problem) {
    rank_->warning->warn(std::string(problem.what()) + "; programs of full trainings are asked again");
    return {};
  }
}

void KnownValues::keep(const std::string& metric, double value) {
  values_.early[metric] = value;
  write();
}

void KnownValues::keep(trial::StepValues step) {
  values_.steps.push_back(std::move(step));
  write();
}

/// A file that cannot be written costs time at most: the next attempt asks, and has its trainer report,
/// again.
void KnownValues::write() const {
  try {
    store::write_known_values(rank_->files.paths, trial_.name(), provenance_, values_,
                              rank_->files.header.metrics);
  } catch (const Problem& problem) {
    rank_->warning->warn("trial " + to_text(trial_.name()) + ": " + problem.what() +
                         "; if it is resumed, what was known of it may be missing");
  }
}

void KnownValuesRemoval::committed(const run::Commit& commit, const run::RunState& state) {
  if (commit.replayed && !asks_) return;
  const trial::Trial& committed = commit.trial->trial;
  if (committed.is_final() || !asks_) {
    unneeded_.push_back(committed.name());
  } else if (!keeps_search_) {
    for (const trial::TrialNumber number : state.left_behind()) unneeded_.push_back({number});
  }
  if (commit.replayed || unneeded_.empty()) return;
  files_.storage.post([&files = files_, warning = warning_, trials = std::exchange(unneeded_, {})] {
    for (const trial::TrialName trial : trials) {
      try {
        store::remove_known_values(files.paths, trial);
      } catch (const Problem& problem) {
        warning->warn(problem.what());
      }
    }
  });
}

SlotPruning::SlotPruning(KnownValues& known) : known_(known) {
  for (const trial::StepValues& step : known_.steps()) compare(step);
}

/// Returns the values after a step in the order of the metrics, with those that are known before the
/// training, and NaN for those that are missing.
std::vector<double> SlotPruning::values_of(const trial::CurvePoint& point) const {
  std::vector<double> values;
  for (const trial::Metric& metric : known_.rank().files.header.metrics) {
    const auto early = known_.known().find(metric.name);
    const auto reported = std::ranges::find(point.values, metric.name, &trial::NamedNumber::name);
    values.push_back(early != known_.known().end()    ? early->second
                     : reported != point.values.end() ? reported->value
                                                      : std::nan(""));
  }
  return values;
}

/// A trial that was told to end, and continues, is told so again.
void SlotPruning::compare(const trial::StepValues& step) {
  const trial::Trial& trial = known_.trial();
  const auto bar = std::ranges::find(trial.bars, step.step, &trial::PruningBar::step);
  require(bar != trial.bars.end(), "a trial is compared after a step that is not declared");
  const bool was_told = !decisions_.empty() && decisions_.back().stop;
  const bool stop = was_told || comparison().falls_behind(*bar, trial.architecture(), step.values);
  decisions_.push_back({step.step, stop});
}

bool SlotPruning::decide(const trial::CurvePoint& point) {
  const auto decided = std::ranges::find(decisions_, point.step, &Decision::step);
  if (decided != decisions_.end()) return decided->stop;
  if (!decisions_.empty() && decisions_.back().step > point.step) return decisions_.back().stop;
  trial::StepValues step{point.step, values_of(point)};
  if (!comparison().minimized(known_.trial().architecture(), step.values)) {
    known_.rank().warning->warn("trial " + to_text(known_.trial().name()) +
                                ": an objective has no value after step " + std::to_string(step.step) +
                                ", so the trial is not compared there");
  }
  compare(step);
  known_.keep(std::move(step));
  return decisions_.back().stop;
}

void SlotPruning::complete(trial::Outcome& outcome, bool overran) const {
  const auto* const failed = std::get_if<trial::Failure>(&outcome);
  const bool was_stopped = failed != nullptr && failed->kind == trial::FailureKind::kStopped;
  if (overran && was_stopped && !decisions_.empty() && decisions_.back().stop)
    outcome = trial::Measurements{.values = {}, .extent = trial::Extent::kPruned};
  auto* measured = std::get_if<trial::Measurements>(&outcome);
  if (measured == nullptr) return;
  measured->steps = known_.steps();
  if (measured->extent != trial::Extent::kPruned) return;
  const auto told = std::ranges::find(decisions_, true, &Decision::stop);
  require(told != decisions_.end(), "the evaluator ended a trial that nobody had asked to end");
  measured->steps.resize(static_cast<std::size_t>(told - decisions_.begin()) + 1);
  measured->values = measured->steps.back().values;
}

}  // namespace skyline::engine
