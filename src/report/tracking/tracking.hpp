#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/trial/trial.hpp"

#include "report/files/trial_results.hpp"
#include "report/tracking/event_file.hpp"
#include "run/opened_run.hpp"
#include "run/run_state.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <filesystem>
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

  MetricRecord record(const TrackedTrial& tracked);
  /// Returns the trial's own values.
  std::vector<NamedValue> own_values(const trial::CommittedTrial& committed) const;

 private:
  bool measurable(const TrackedTrial& tracked) const;
  void measure_volume(const TrackedTrial& tracked);

  objective::ObjectiveSet objectives_;
  std::vector<trial::Metric> metrics_;
  std::vector<std::string> shown_;  // tracked metrics of a trial
  std::shared_ptr<const run::FrontPoints> measured_;
  double volume_ = 0;  // never falls
};

/// The run to track.
struct TrackingInputs {
  const store::RunPaths& paths;
  const objective::ObjectiveSet& objectives;
  const std::vector<trial::Metric>& metrics;  // metrics of Measurements::values
  std::size_t replayed = 0;                   // number of trials of earlier jobs
  bool events = true;                         // whether to write TensorBoard's event files
};

/// Writes the metrics of a run to TensorBoard's event files, from a thread of its own: slowness, hangs and
/// errors there never hold up the run, and are logged as warnings. Used by the main thread.
class RunTracking : public run::RunListener {
 public:
  ~RunTracking() override = default;  // ends as for a failed run, unless the end was reported
  /// Waits until the rest has been written: at most about 10 s after a finish, 3 s after a stop, 2 s after a
  /// failure.
  virtual void ended(RunEnd end) = 0;
  /// Writes nothing more, because the run belongs to another process now.
  virtual void abandon() = 0;
};

/// Starts tracking in the folder events/ of the run.
std::unique_ptr<RunTracking> start_tracking(const TrackingInputs& inputs);

/// TensorBoard reads each folder as a run of its own, and becomes slow with more.
inline constexpr std::size_t kMostTrialFolders = 1000;

/// Writes a folder with one event file for each trial, named as the trial ("17", "17.final"): its learning
/// curve (`curve/NAME`), its results as in the events of the run, and the values of its parameters, which
/// make it a row of the tab HParams. If there are too many, those on the fronts come first, then those with
/// the lowest numbers.
/// @param folder  must exist and is empty
/// @return the number of trials that were left out
/// @throws Problem if a file cannot be written
std::size_t write_trial_events(const run::OpenedRun& opened, const std::filesystem::path& folder);

}  // namespace skyline::report
