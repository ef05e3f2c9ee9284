#pragma once

#include "skyline/trial/evaluator.hpp"

#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"
#include "trial/commit_log.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

namespace skyline::store {

/// The state of a trial that is not finished, or that is finished and may be continued.
struct TrialCheckpoint {
  trial::TrialName trial;
  std::string provenance;  // store::provenance
  trial::TrainingState state;
  std::uint32_t attempt = 0;  // greater than 0 if the trial was lost with its rank before
};

/// Publishes checkpoints/<trial name>.<0 or 1>.h5: `sequence` counts the trial's checkpoints, and the two
/// names take turns, so that the previous one remains if the last is damaged. Two attempts have different
/// names, because the first may only seem lost. Sealed HDF5, one flat array for each TrainingState::Array.
/// @throws UserError
void write_checkpoint(const RunPaths& paths, const TrialCheckpoint& checkpoint, std::uint64_t sequence,
                      Effort effort = Effort::kOnce);

/// The newest usable checkpoint of a trial, and the sequence number of the next one. A file that is damaged,
/// of another training, or of another format is ignored, with a warning that names it and says what happens
/// instead. nullopt if none is usable.
struct FoundCheckpoint {
  TrialCheckpoint checkpoint;
  std::uint64_t next_sequence = 0;
};
std::optional<FoundCheckpoint> find_checkpoint(const RunPaths& paths, trial::TrialName trial,
                                               const std::string& provenance);

/// Returns the trials that have checkpoints, usable or not. @throws UserError
std::set<trial::TrialName> checkpointed_trials(const RunPaths& paths);
/// Number of attempts with different names. When a later attempt begins, the first has long ended.
inline constexpr std::uint32_t kMostAttempts = 5;

/// Removes the checkpoints of a trial's first attempts, if there are any. @throws UserError
void remove_checkpoints(const RunPaths& paths, trial::TrialName trial, std::uint32_t attempts = 1);

/// Publishes checkpoints/<number>.kept.h5: the last state of a trial that others may continue, in the format
/// of a checkpoint. Retries with patience. @throws UserError, FaultError
/// @param state  has the provenance kept_provenance
void write_kept_state(const RunPaths& paths, const TrialCheckpoint& state);
/// Returns the state that a trial kept, or nullopt if there is none.
/// @throws UserError if it is damaged, of another training, or of another format
std::optional<trial::TrainingState> find_kept_state(const RunPaths& paths, trial::TrialNumber number,
                                                    const std::string& provenance);
/// Returns the trials that have a kept state. @throws UserError
std::set<trial::TrialNumber> kept_states(const RunPaths& paths);
/// Removes the kept state of a trial, if there is one. @throws UserError
void remove_kept_state(const RunPaths& paths, trial::TrialNumber number);
std::filesystem::path kept_state_path(const RunPaths& paths, trial::TrialNumber number);

/// Returns checkpoints/<trial name>.<turn>.h5, e.g. 17.0.h5 or 17.final.1.h5.
/// @param turn  each attempt has two
std::filesystem::path checkpoint_path(const RunPaths& paths, trial::TrialName trial, std::uint64_t turn);

std::optional<trial::TrialName> trial_of_checkpoint(const std::string& name);

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
