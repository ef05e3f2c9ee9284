#pragma once

#include "store/run_folder/run_folder.hpp"
#include "trial/commit_log.hpp"

#include <cstddef>

namespace skyline::store {

/// The remains of an earlier job that were found in a run folder.
struct RecoveredFolder {
  std::size_t temporaries = 0;   // unfinished files, removed
  std::size_t checkpoints = 0;   // checkpoints of committed trials, removed
  std::size_t begun_trials = 0;  // trials with a checkpoint to resume from
};

/// Puts a run folder in order: removes unfinished files, and the checkpoints of committed trials. Only the
/// holder of the claim may call it, while no rank writes: before the run begins, and again after its end.
/// @throws UserError
/// @param final_budget  budget of this run's full trainings; committed ones with another budget are other
///                      trainings
RecoveredFolder recover_run_folder(const RunPaths& paths, const trial::CommitLog& committed,
                                   const trial::Budget& final_budget);

}  // namespace skyline::store
