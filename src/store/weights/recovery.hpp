#pragma once

#include "store/run_folder/run_folder.hpp"
#include "trial/commit_log.hpp"

#include <cstddef>

namespace skyline::store {

/// The remains of an earlier job in a run folder.
struct RecoveredFolder {
  std::size_t temporaries = 0;   // unfinished files, removed
  std::size_t checkpoints = 0;   // of committed trials, removed
  std::size_t begun_trials = 0;  // trials with a checkpoint to resume from
};

/// Puts a run folder in order: removes unfinished files, and the checkpoints of the committed trials. Only
/// for the holder of the claim, while no rank writes: before the run begins, and again after its end. @throws
/// UserError
/// @param final_budget  of the full trainings of this run: those of another budget that are committed are
/// others
RecoveredFolder recover_run_folder(const RunPaths& paths, const trial::CommitLog& committed,
                                   const trial::Budget& final_budget);

}  // namespace skyline::store
