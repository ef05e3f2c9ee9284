#include "engine/slots/slot_pruning.hpp"

#include "skyline/core/error.hpp"

#include "store/journal/step_values.hpp"
#include "store/journal/trial_json.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>

namespace skyline::engine {
namespace {

/// Returns values by name in the order of the metrics, NaN for those that are missing.
std::vector<double> in_order(const std::vector<trial::NamedNumber>& values,
                             const std::vector<trial::Metric>& metrics) {
  std::vector<double> ordered;
  for (const trial::Metric& metric : metrics) {
    const auto found = std::ranges::find(values, metric.name, &trial::NamedNumber::name);
    ordered.push_back(found == values.end() ? std::nan("") : found->value);
  }
  return ordered;
}

}  // namespace

SlotPruning::SlotPruning(std::shared_ptr<RankPruning> rank, const trial::Trial& trial)
    : rank_(std::move(rank)), trial_(trial), provenance_(store::provenance(trial, rank_->files.stamp())) {
  const RunFiles& files = rank_->files;
  try {
    auto earlier = store::read_step_values(files.paths, trial.name(), provenance_, files.header.metrics);
    for (trial::StepValues& step : earlier) compare(std::move(step));
  } catch (const Problem& problem) {
    rank_->warning->warn(std::string(problem.what()) + "; trials report their values again");
  }
}

/// A trial that was told to end, and continues, is told so again.
void SlotPruning::compare(trial::StepValues step) {
  const auto bar = std::ranges::find(trial_.bars, step.step, &trial::PruningBar::step);
  require(bar != trial_.bars.end(), "a trial is compared after a step that is not declared");
  const bool was_told = !decisions_.empty() && decisions_.back().stop;
  const bool stop = was_told || rank_->comparison.falls_behind(*bar, trial_.architecture(), step.values);
  decisions_.push_back({step.step, stop});
  steps_.push_back(std::move(step));
}

bool SlotPruning::decide(const trial::CurvePoint& point) {
  const auto decided = std::ranges::find(decisions_, point.step, &Decision::step);
  if (decided != decisions_.end()) return decided->stop;
  if (!decisions_.empty() && decisions_.back().step > point.step) return decisions_.back().stop;
  trial::StepValues step{point.step, in_order(point.values, rank_->files.header.metrics)};
  if (!rank_->comparison.minimized(trial_.architecture(), step.values)) {
    rank_->warning->warn("trial " + to_text(trial_.name()) + ": an objective has no value after step " +
                         std::to_string(step.step) + ", so the trial is not compared there");
  }
  compare(std::move(step));
  write();
  return decisions_.back().stop;
}

/// A file that cannot be written costs time at most: the next attempt has its trainer report again.
void SlotPruning::write() {
  try {
    store::write_step_values(rank_->files.paths, trial_.name(), provenance_, steps_,
                             rank_->files.header.metrics);
  } catch (const Problem& problem) {
    rank_->warning->warn("trial " + to_text(trial_.name()) + ": " + problem.what() +
                         "; if it is resumed, its values after earlier steps may be missing");
  }
}

void SlotPruning::complete(trial::Outcome& outcome, bool overran) const {
  const auto* const failed = std::get_if<trial::Failure>(&outcome);
  const bool was_stopped = failed != nullptr && failed->kind == trial::FailureKind::kStopped;
  if (overran && was_stopped && !decisions_.empty() && decisions_.back().stop)
    outcome = trial::Measurements{.values = {}, .extent = trial::Extent::kPruned};
  auto* measured = std::get_if<trial::Measurements>(&outcome);
  if (measured == nullptr) return;
  measured->steps = steps_;
  if (measured->extent != trial::Extent::kPruned) return;
  const auto told = std::ranges::find(decisions_, true, &Decision::stop);
  require(told != decisions_.end(), "the evaluator ended a trial that nobody had asked to end");
  measured->steps.resize(static_cast<std::size_t>(told - decisions_.begin()) + 1);
  measured->values = measured->steps.back().values;
}

void StepValuesRemoval::committed(const run::Commit& commit, const run::RunState& /*state*/) {
  if (commit.replayed || commit.trial->trial.is_final()) return;
  files_.storage.post([&files = files_, warning = warning_, name = commit.trial->trial.name()] {
    try {
      store::remove_step_values(files.paths, name);
    } catch (const Problem& problem) {
      warning->warn(problem.what());
    }
  });
}

}  // namespace skyline::engine
