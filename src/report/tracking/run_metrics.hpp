#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/trial/trial.hpp"

#include "run/run_state.hpp"
#include "store/events/event_file.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace skyline::report {

/// A committed trial, its time, and the state of the run after it.
struct TrackedTrial {
  TrackedTrial(const run::Commit& commit, const run::RunState& state, double the_unix_s);

  run::SharedTrial trial;
  bool replayed = false;
  double unix_s = 0;
  std::size_t front_size = 0;
  std::shared_ptr<const run::FrontPoints> front;  // shared until the front changes
  std::vector<double> best;                       // RunState::best()
  std::size_t failed = 0;
  std::size_t pruned = 0;
  std::size_t outside = 0;
};

/// Turns the trials of a run into tracked values: the trial's own (`trial/...`, for a full training
/// `final/...`) and those of the run after it (`front/size`, `front/hypervolume`, `best/OBJECTIVE`,
/// `run/failed_trials`). Values that are not finite or were not measured are left out. The hypervolume
/// is also left out if the objectives define none, or if the front is too large to measure it during the run.
class RunMetrics {
 public:
  /// @param metrics  describe the values in Measurements::values, in the same order
  RunMetrics(objective::ObjectiveSet objectives, std::vector<trial::Metric> metrics);

  store::MetricRecord record(const TrackedTrial& tracked);
  /// Returns the trial's own values.
  std::vector<store::NamedValue> own_values(const trial::CommittedTrial& committed) const;

 private:
  bool measurable(const TrackedTrial& tracked) const;
  void measure_volume(const TrackedTrial& tracked);

  objective::ObjectiveSet objectives_;
  std::vector<trial::Metric> metrics_;
  std::vector<std::string> shown_;  // tracked metrics of a trial
  std::shared_ptr<const run::FrontPoints> measured_;
  double volume_ = 0;  // never falls
};

}  // namespace skyline::report
