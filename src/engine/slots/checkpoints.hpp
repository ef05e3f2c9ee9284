#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/slots/checkpoint_folder.hpp"
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

/// The checkpoints of the trial that a slot trains. Two staging buffers: while the storage thread publishes
/// one, the slot may fill the other, and with both under way a checkpoint is left out. Used by the slot's
/// thread.
class SlotCheckpoints final : public trial::TrialState {
 public:
  /// @param stop  asked of trials: then a checkpoint waits for a buffer
  SlotCheckpoints(std::shared_ptr<CheckpointFolder> folder, const std::atomic<bool>& stop);

  /// Begins a trial. @param attempt  of its Assignment
  void begin(const trial::Trial& trial, std::uint32_t attempt = 0);
  const trial::TrainingState* saved() const override;
  bool due(double epochs_done) override;
  void save(const std::function<void(trial::TrainingState&)>& fill) override;
  void save_last(const std::function<void(trial::TrainingState&)>& fill) override;

  /// Whether this trial may have checkpoints, or some under way.
  bool has_files() const { return saves_ > 0 || resumed_; }
  /// Whether the trial's last state is being published, for trials that continue it.
  bool keeps_last() const { return keeps_last_; }
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
  std::uint32_t attempt_ = 0;
  std::string provenance_;
  std::optional<store::TrialCheckpoint> found_;
  std::string kept_provenance_;  // of the trial's last state; empty: none is kept
  bool resumed_ = false;         // a checkpoint of its own was found
  std::uint64_t sequence_ = 0;   // of the next checkpoint
  std::size_t saves_ = 0;
  bool keeps_last_ = false;
  Clock::time_point began_;
  Clock::time_point last_save_;                // or the trial's start
  std::optional<double> epochs_at_last_save_;  // or at the trial's start; nothing: not known yet
  std::optional<double> epochs_done_;
  bool has_stepped_ = false;                    // since the last save, or the start
  std::int64_t begun_step_ = 0;                 // where the trial began in this job
  std::int64_t saved_step_ = 0;                 // in the last save
  std::shared_ptr<std::int64_t> written_step_;  // in the newest file; storage thread alone
  double copy_s_ = 0;                           // of all saves
  double last_copy_s_ = 0;                      // of the last save
};

}  // namespace skyline::engine
