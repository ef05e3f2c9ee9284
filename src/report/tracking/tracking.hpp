#pragma once

#include "skyline/objective/objective_set.hpp"

#include "report/files/trial_results.hpp"
#include "run/opened_run.hpp"
#include "run/run_state.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace skyline::report {

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
