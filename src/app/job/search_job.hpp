#pragma once

#include "app/config/run_config.hpp"
#include "app/job/job_stop.hpp"
#include "app/job/run_preparation.hpp"
#include "engine/loop/run.hpp"

namespace skyline::app {

/// Collective, rank 0's part: searches, shows how it goes and ends with the results.
/// @return  the exit code: kExitDone, kExitStopped, or kExitNoFront
int search_as_coordinator(comm::Environment& environment, const engine::SearchTask& task,
                          const engine::RunFiles& files, engine::JobEnd end, PreparedRun prepared,
                          const RunConfig& config, bool quiet, JobStop& stop);

}  // namespace skyline::app
