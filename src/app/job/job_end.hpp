#pragma once

#include "comm/environment.hpp"
#include "store/run_folder/run_folder.hpp"

namespace skyline::app {

/// Rank 0's last act: says in the run's status.json how this job ended. The scripts of batch systems go by
/// that, for a launcher may return something else, or outlive the ranks. Nothing is written into a folder
/// that another job has, or that is no run's. Elsewhere than on rank 0 it does nothing.
/// @param claim  of this job on the folder; nullptr: it did not get so far, which only a batch script asks
void tell_end(comm::Environment& environment, const store::RunPaths& paths, const store::RunClaim* claim,
              int exit_code);

}  // namespace skyline::app
