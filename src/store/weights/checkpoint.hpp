#pragma once

#include "skyline/trial/evaluator.hpp"

#include "store/publish/patience.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

namespace skyline::store {

/// A trial that has begun and is not done, or that is done and may be continued.
struct TrialCheckpoint {
  trial::TrialName trial;
  std::string provenance;  // store::provenance
  trial::TrainingState state;
  std::uint32_t attempt = 0;  // greater than 0: the trial was lost with its rank before
};

/// Publishes checkpoints/<trial name>.<0 or 1>.h5, whole: `sequence` counts the trial's checkpoints, and the
/// two names take turns, so that the one before is still there if the last is damaged. Two attempts, the
/// first of which may only seem lost, have names of their own. Sealed HDF5, one flat array for each
/// TrainingState::Array. @throws UserError
void write_checkpoint(const RunPaths& paths, const TrialCheckpoint& checkpoint, std::uint64_t sequence,
                      Effort effort = Effort::kOnce);

/// The newest usable checkpoint of a trial, and the sequence number that the next one should have. A file
/// that is damaged, of another training, or of another format is passed over with a warning that names it and
/// says what happens instead. Nothing if none is usable.
struct FoundCheckpoint {
  TrialCheckpoint checkpoint;
  std::uint64_t next_sequence = 0;
};
std::optional<FoundCheckpoint> find_checkpoint(const RunPaths& paths, trial::TrialName trial,
                                               const std::string& provenance);

/// The trials that have checkpoints, usable or not. @throws UserError
std::set<trial::TrialName> checkpointed_trials(const RunPaths& paths);
/// Attempts that have names of their own; of later ones the first has long been gone.
inline constexpr std::uint32_t kMostAttempts = 5;

/// Removes the checkpoints of a trial's first attempts, if there are any. @throws UserError
void remove_checkpoints(const RunPaths& paths, trial::TrialName trial, std::uint32_t attempts = 1);

/// Publishes checkpoints/<number>.kept.h5, whole and with patience: the last state of a trial that others may
/// continue, in the format of a checkpoint. @param state  with the provenance kept_provenance
/// @throws UserError, FaultError
void write_kept_state(const RunPaths& paths, const TrialCheckpoint& state);
/// The state that a trial kept; nothing if it is not there. @throws UserError: damaged, of another training,
/// or of another format
std::optional<trial::TrainingState> find_kept_state(const RunPaths& paths, trial::TrialNumber number,
                                                    const std::string& provenance);
/// The trials that have a kept state. @throws UserError
std::set<trial::TrialNumber> kept_states(const RunPaths& paths);
/// Removes it if it is there. @throws UserError
void remove_kept_state(const RunPaths& paths, trial::TrialNumber number);
std::filesystem::path kept_state_path(const RunPaths& paths, trial::TrialNumber number);

/// checkpoints/<trial name>.<turn>.h5, e.g. 17.0.h5 or 17.final.1.h5; @param turn  two for each attempt
std::filesystem::path checkpoint_path(const RunPaths& paths, trial::TrialName trial, std::uint64_t turn);

/// The trial in the name of a checkpoint.
std::optional<trial::TrialName> trial_of_checkpoint(const std::string& name);

}  // namespace skyline::store
