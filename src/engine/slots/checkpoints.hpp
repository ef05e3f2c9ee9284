#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/engine_options.hpp"
#include "engine/run_files.hpp"
#include "engine/slots/storage_calls.hpp"
#include "run/run_state.hpp"
#include "store/weights/checkpoint.hpp"

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
/// thread. A checkpoint that cannot be made or written costs time at a resume and no result: it is a warning,
/// at most once a minute, and the run goes on.
class CheckpointFolder : public run::RunListener, public std::enable_shared_from_this<CheckpointFolder> {
 public:
  /// @param options  nothing: none are written
  /// @param resume   an earlier job may have left some
  CheckpointFolder(const RunFiles& files, const std::optional<CheckpointOptions>& options, bool resume);

  /// Nothing: checkpoints are not written.
  const std::optional<CheckpointOptions>& options() const { return options_; }
  store::StorageThread& storage() const { return storage_; }
  std::string provenance(const trial::Trial& trial) const { return store::provenance(trial, run_); }

  /// The trials of this rank are asked to stop: what they save is their last, and written with patience, but
  /// not for long.
  void stop();
  /// The state of a trial that an earlier job saved; waits for the storage thread. Nothing in a run that is
  /// no resume.
  std::optional<store::FoundCheckpoint> find(trial::TrialName trial, const std::string& provenance) const;
  /// On the storage thread. Returns whether the file is there.
  /// @param last  of a trial that stops
  bool write(const store::TrialCheckpoint& checkpoint, std::uint64_t sequence, bool last);
  void warn_of_one_left_out(trial::TrialName trial, const std::string& problem);
  /// On the storage thread: of a trial whose result is in a file.
  void remove_now(trial::TrialName trial) { store::remove_checkpoints(paths_, trial); }
  /// Rank 0: those of a trial that is in the journal go, after everything that is queued.
  void committed(const run::Commit& commit, const run::RunState& state) override;

 private:
  using Clock = std::chrono::steady_clock;

  store::StorageThread& storage_;
  const store::RunPaths paths_;
  const store::RunStamp run_;
  const std::optional<CheckpointOptions> options_;
  const bool resume_;
  std::atomic<Clock::time_point> patient_until_ = Clock::time_point::max();
  RareWarning warning_;
};

/// The checkpoints of the trial that a slot trains. Two staging buffers: while the storage thread publishes
/// one, the slot may fill the other, and with both under way a checkpoint is left out. Used by the slot's
/// thread.
class SlotCheckpoints final : public trial::TrialState {
 public:
  /// @param stop  asked of trials: then a checkpoint waits for a buffer
  SlotCheckpoints(std::shared_ptr<CheckpointFolder> folder, const std::atomic<bool>& stop);

  /// Begins a trial.
  void begin(const trial::Trial& trial);
  const trial::TrainingState* saved() const override;
  bool due(double epochs_done) override;
  void save(const std::function<void(trial::TrainingState&)>& fill) override;

  /// Whether this trial may have checkpoints, or some under way.
  bool has_files() const { return saves_ > 0 || resumed_; }
  /// Whether the trial has cost so much that its result should not wait for its commit in memory alone.
  bool result_worth_keeping() const;
  /// Whether a later job can go on where the trial stands; waits for the storage thread. True where no
  /// checkpoints are wanted.
  bool all_is_saved() const;

 private:
  using Clock = std::chrono::steady_clock;
  class Buffers;

  bool stage(const std::function<void(trial::TrainingState&)>& fill);
  bool interval_is_over(double epochs_done) const;
  bool copying_is_cheap() const;

  std::shared_ptr<CheckpointFolder> folder_;
  const std::atomic<bool>& stop_;
  std::shared_ptr<Buffers> buffers_;  // also held by queued jobs
  trial::TrialName trial_;
  std::string provenance_;
  std::optional<store::TrialCheckpoint> found_;
  bool resumed_ = false;        // something was found
  std::uint64_t sequence_ = 0;  // of the next checkpoint
  std::size_t saves_ = 0;
  Clock::time_point began_;
  Clock::time_point last_save_;                // or the trial's start
  std::optional<double> epochs_at_last_save_;  // or at the trial's start; nothing: not known yet
  std::optional<double> epochs_done_;
  bool has_stepped_ = false;                    // since the last save, or the start
  std::int64_t saved_step_ = 0;                 // in the last save
  std::shared_ptr<std::int64_t> written_step_;  // in the newest file; storage thread alone
  double copy_s_ = 0;                           // of all saves
  double last_copy_s_ = 0;                      // of the last save
};

}  // namespace skyline::engine
