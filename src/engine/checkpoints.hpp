#pragma once

#include "skyline/engine/run.hpp"
#include "skyline/store/checkpoint.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::engine {

/// This rank's way to the run's checkpoints, shared by its slots; all files are touched by its storage
/// thread. A checkpoint that cannot be written costs time at a resume and no result: it is a warning, at most
/// once a minute, and the run goes on.
class CheckpointFolder : public std::enable_shared_from_this<CheckpointFolder> {
 public:
  /// inputs.storage outlives the folder.
  explicit CheckpointFolder(const RunInputs& inputs);

  /// Nothing: checkpoints are not written.
  const std::optional<CheckpointOptions>& options() const { return options_; }
  store::StorageThread& storage() const { return storage_; }
  store::CheckpointOwner owner(const objective::Trial& trial) const;

  /// What an earlier job saved of a trial; waits for the storage thread. Nothing in a run that is no resume.
  std::optional<store::FoundCheckpoint> find(const store::CheckpointOwner& owner) const;
  /// On the storage thread. Returns whether the file is there.
  bool write(const store::TrialCheckpoint& checkpoint, std::uint64_t sequence);
  /// Rank 0, at a stop: results that wait behind a trial that was stopped, for the next job.
  void keep_results(std::vector<objective::CommittedTrial> waiting);
  /// Rank 0: after everything that is queued, the trial's journal line above all.
  void remove(objective::TrialNumber trial);

 private:
  using Clock = std::chrono::steady_clock;
  store::StorageThread& storage_;
  const store::RunPaths paths_;
  const store::RunStamp run_;
  const std::optional<CheckpointOptions> options_;
  const bool resume_;
  std::optional<Clock::time_point> warned_;  // storage thread alone
};

/// The checkpoints of the trial that a slot trains. Two staging buffers: while the storage thread publishes
/// one, the slot may fill the other, and with both under way a checkpoint is left out. Used by the slot's
/// thread.
class SlotCheckpoints {
 public:
  /// @param stop  asked of trials: then a checkpoint waits for a buffer
  SlotCheckpoints(std::shared_ptr<CheckpointFolder> folder, const std::atomic<bool>& stop);

  /// Begins a trial. Returns its result if an earlier job has it.
  std::optional<store::FinishedTrial> begin(const objective::Trial& trial);
  /// The state that an earlier job saved; nullptr: none.
  const objective::TrainingState* saved_state() const;
  bool due(double epochs_done);
  void save(const std::function<void(objective::TrainingState&)>& fill);

  /// Whether jobs of this trial may be queued: its result must wait for them.
  bool pending() const { return saves_ > 0; }
  /// Whether the trial has cost so much that its result should not wait for its commit in memory alone.
  bool result_worth_keeping() const;
  /// Publishes the result; to be called on the storage thread, after all jobs of this trial.
  std::function<void()> result_writer(const store::FinishedTrial& result) const;

 private:
  using Clock = std::chrono::steady_clock;
  class Buffers;

  bool interval_is_over(double epochs_done) const;
  bool copying_is_cheap() const;

  std::shared_ptr<CheckpointFolder> folder_;
  const std::atomic<bool>& stop_;
  std::shared_ptr<Buffers> buffers_;  // also held by queued jobs
  store::CheckpointOwner owner_;
  std::optional<store::TrialCheckpoint> found_;
  std::uint64_t sequence_ = 0;  // of the next checkpoint
  std::size_t saves_ = 0;
  Clock::time_point began_;
  Clock::time_point last_save_;                // or the trial's start
  std::optional<double> epochs_at_last_save_;  // or at the trial's start; nothing: not known yet
  std::optional<double> epochs_done_;
  double copy_s_ = 0;       // of all saves
  double last_copy_s_ = 0;  // what the next one will cost
};

}  // namespace skyline::engine
