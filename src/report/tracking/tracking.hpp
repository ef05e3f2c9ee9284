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

/// A run to be tracked, and where.
struct TrackingInputs {
  const store::RunPaths& paths;
  const objective::ObjectiveSet& objectives;
  const std::vector<trial::Metric>& metrics;  // of Measurements::values
  std::size_t replayed = 0;                   // trials of earlier jobs
  const ConfigNode& config;                   // resolved
  bool events = true;                         // write TensorBoard's event files
  std::string version;                        // of this program
  VariableLookup variable = {};               // of the environment
};

/// Passes the metrics of a run on to TensorBoard's event files and to MLflow, each from a thread of its own:
/// what is slow, hangs or fails there never holds up the run, and is a warning. Main thread.
class RunTracking : public run::RunListener {
 public:
  ~RunTracking() override = default;  // as of a failed run, if nobody has told the end
  /// Waits until what is left has been passed on: at most about 10 s if the run is finished, 3 s if it was
  /// stopped, 2 s if it failed.
  virtual void ended(RunEnd end) = 0;
  /// The run is another process' now: nothing more is passed on, not even how it ended.
  virtual void abandon() = 0;
};

/// Event files go to events/ of the run folder; MLflow is told of the run where its variables say so
/// (MLFLOW_TRACKING_URI; docs/clusters.md). A variable that has no meaning is a warning.
std::unique_ptr<RunTracking> start_tracking(const TrackingInputs& inputs);

}  // namespace skyline::report
