#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial.hpp"

#include "store/publish/patience.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace skyline::store {

/// Which trial of which run a checkpoint belongs to.
struct CheckpointOwner {
  RunStamp run;  // another version may train otherwise: its checkpoints are not gone on from
  std::string arch_id;
  trial::TrialName trial;
  std::uint64_t seed = 0;
  double epochs = 0;
  std::uint64_t members = 1;                        // of the group that trains it
  std::optional<trial::TrialNumber> inherits_from;  // whose weights the training began with
  bool operator==(const CheckpointOwner&) const = default;
};

/// A trial that has begun and is not done.
struct TrialCheckpoint {
  CheckpointOwner owner;
  trial::TrainingState state;
};

/// Publishes checkpoints/<trial name>.<0 or 1>.h5, whole: `sequence` counts the trial's checkpoints, and the
/// two names take turns, so that the one before is still there if the last is damaged. Sealed HDF5, one flat
/// array for each TrainingState::Array. @throws UserError
void write_checkpoint(const RunPaths& paths, const TrialCheckpoint& checkpoint, std::uint64_t sequence,
                      Effort effort = Effort::kOnce);

/// The newest usable checkpoint of `owner`, and the sequence number that the next one should have. A file
/// that is damaged, of another owner, or of a newer format is passed over with a warning that names it and
/// says what happens instead. Nothing if none is usable.
struct FoundCheckpoint {
  TrialCheckpoint checkpoint;
  std::uint64_t next_sequence = 0;
};
std::optional<FoundCheckpoint> find_checkpoint(const RunPaths& paths, const CheckpointOwner& owner);

/// Removes a trial's checkpoints, if there are any. @throws UserError
void remove_checkpoints(const RunPaths& paths, trial::TrialName trial);

}  // namespace skyline::store
