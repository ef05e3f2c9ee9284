#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/system/process.hpp"
#include "report/report.hpp"
#include "run/run_state.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace skyline::report {

/// The run to track, and its destinations.
struct TrackingInputs {
  const store::RunPaths& paths;
  const objective::ObjectiveSet& objectives;
  const std::vector<trial::Metric>& metrics;  // metrics of Measurements::values
  std::size_t replayed = 0;                   // number of trials of earlier jobs
  const ConfigNode& config;                   // the resolved configuration
  bool events = true;                         // whether to write TensorBoard's event files
  std::string version;                        // version of this program
  VariableLookup variable = {};               // looks up environment variables
};

/// Sends the metrics of a run to TensorBoard's event files and to MLflow, each from its own thread: slowness,
/// hangs and errors there never hold up the run, and are logged as warnings. Used by the main thread.
class RunTracking : public run::RunListener {
 public:
  ~RunTracking() override = default;  // ends as for a failed run, unless the end was reported
  /// Waits until the rest has been sent: at most about 10 s after a finish, 3 s after a stop, 2 s after a
  /// failure.
  virtual void ended(RunEnd end) = 0;
  /// Sends nothing more, not even an end, because the run belongs to another process now.
  virtual void abandon() = 0;
};

/// Starts tracking: event files in events/ of the run folder, and MLflow if its variables are set
/// (MLFLOW_TRACKING_URI; docs/clusters.md). A variable without a meaning is logged as a warning.
std::unique_ptr<RunTracking> start_tracking(const TrackingInputs& inputs);

}  // namespace skyline::report
