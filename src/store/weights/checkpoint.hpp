#pragma once

#include "skyline/trial/evaluator.hpp"

#include "store/publish/patience.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace skyline::store {

/// A trial that has begun and is not done.
struct TrialCheckpoint {
  trial::TrialName trial;
  std::string provenance;  // store::provenance
  trial::TrainingState state;
};

/// Publishes checkpoints/<trial name>.<0 or 1>.h5, whole: `sequence` counts the trial's checkpoints, and the
/// two names take turns, so that the one before is still there if the last is damaged. Sealed HDF5, one flat
/// array for each TrainingState::Array. @throws UserError
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

/// Removes a trial's checkpoints, if there are any. @throws UserError
void remove_checkpoints(const RunPaths& paths, trial::TrialName trial);

/// Number of names of a trial's checkpoints, which take turns.
inline constexpr std::uint64_t kCheckpointNames = 2;

/// checkpoints/<trial name>.<turn>.h5, e.g. 17.0.h5 or 17.final.1.h5; @param turn  below kCheckpointNames
std::filesystem::path checkpoint_path(const RunPaths& paths, trial::TrialName trial, std::uint64_t turn);

/// The trial in the name of a checkpoint.
std::optional<trial::TrialName> trial_of_checkpoint(const std::string& name);

}  // namespace skyline::store
