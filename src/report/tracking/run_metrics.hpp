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

/// A committed trial, when that was, and how the run stood behind it.
struct TrackedTrial {
  TrackedTrial(const run::Commit& commit, const run::RunState& state, double the_unix_s);

  run::SharedTrial trial;
  bool replayed = false;
  double unix_s = 0;
  std::size_t front_size = 0;
  std::shared_ptr<const run::FrontPoints> front;  // shared until it changes
  std::vector<double> best;                       // RunState::best()
  std::size_t failed = 0;
};

/// Turns the trials of a run into what is tracked of each: its own values (`trial/...`, of a full training
/// `final/...`) and how the run stands behind it (`front/size`, `front/hypervolume`, `best/OBJECTIVE`,
/// `run/failed_trials`). What is not finite or was not measured is left out, and the volume where the
/// objectives have none or the front is too large to measure it while the run goes on.
class RunMetrics {
 public:
  /// @param metrics  of Measurements::values
  RunMetrics(objective::ObjectiveSet objectives, std::vector<trial::Metric> metrics);

  store::MetricRecord record(const TrackedTrial& tracked);

 private:
  void add_own(const trial::CommittedTrial& committed, store::MetricRecord& record) const;
  bool measurable(const TrackedTrial& tracked) const;
  void measure_volume(const TrackedTrial& tracked);

  objective::ObjectiveSet objectives_;
  std::vector<trial::Metric> metrics_;
  std::vector<std::string> shown_;  // metrics of a trial that are tracked
  std::shared_ptr<const run::FrontPoints> measured_;
  double volume_ = 0;  // never falls
};

}  // namespace skyline::report
