#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/search/pruning.hpp"
#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::search {

/// The comparison of trials while they train, by the objectives that are known then: computed ones, those
/// that programs were asked before, and measured ones that have a course (trial::Metric). Immutable, so any
/// thread may use it.
class StepComparison {
 public:
  /// @param metrics  metrics of Measurements::values
  StepComparison(const objective::ObjectiveSet& objectives, const std::vector<trial::Metric>& metrics);

  /// Returns the names of the compared metrics that a training reports; without any, no trial is compared.
  const std::vector<std::string>& reported() const { return reported_; }
  /// Returns the metrics of the other objectives, which only whole trials have.
  std::vector<std::string> left_out() const;
  /// Returns the values that are compared, [compared objectives], every column minimized; nullopt if one of
  /// them is missing.
  /// @param measured  values after a step, in the order of the metrics
  std::optional<std::vector<double>> minimized(const space::Architecture& architecture,
                                               const std::vector<double>& measured) const;
  /// Returns whether a trial's values may make a bar: a result of the search that breaks no constraint. A
  /// pruned one breaks it by the values of its last step; bounds of compared metrics aside, since a training
  /// is on its way to them.
  bool counts(const trial::CommittedTrial& committed) const;
  /// Returns whether a point of the bar dominates the trial.
  /// @param measured  the trial's values after the bar's step, as above
  bool falls_behind(const trial::PruningBar& bar, const space::Architecture& architecture,
                    const std::vector<double>& measured) const;

 private:
  bool compares(std::string_view metric) const;

  objective::ObjectiveSet objectives_;
  std::vector<objective::Objective> compared_;
  std::vector<std::string> reported_;
};

/// The bars of the trials of a run. The values after a declared step of the known trials that count, also
/// pruned ones, are sorted into fronts; the bar is the first front with which `keep` of them are in it or in
/// better ones.
/// With one objective it is a quantile. It depends only on what was told, in order.
class PruningBars {
 public:
  PruningBars(PruningOptions options, StepComparison comparison);
  /// Takes a result that the searcher is told.
  void tell(const trial::CommittedTrial& committed);
  /// Returns the bars of a trial that is proposed now, one for each declared step.
  const std::vector<trial::PruningBar>& bars();

 private:
  using Points = std::deque<std::vector<double>>;

  std::vector<double> points_of_bar(const Points& known) const;

  PruningOptions options_;
  StepComparison comparison_;
  std::vector<Points> known_;            // indexed by declared step: the newest values
  std::vector<trial::PruningBar> bars_;  // indexed by declared step
  std::vector<bool> is_outdated_;        // indexed by declared step
};

/// Returns the most bytes by which bars, and values after declared steps, make a message longer.
std::size_t most_pruning_bytes(const PruningOptions& options, std::size_t objectives, std::size_t metrics);

}  // namespace skyline::search
