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

namespace skyline::engine {

/// The checkpoints of the trial that a slot trains. There are two staging buffers: while the storage thread
/// publishes one, the slot may fill the other. If both are in use, it skips a checkpoint. Used by the slot's
/// thread.
class SlotCheckpoints final : public trial::TrialState {
 public:
  /// @param stop     set when trials must stop; a checkpoint then waits for a buffer
  /// @param folders  trials keep their last states in folders in place of files of these
  SlotCheckpoints(std::shared_ptr<CheckpointFolder> folder, const std::atomic<bool>& stop,
                  bool folders = false);

  /// Begins a trial.
  /// @param attempt  attempt of its Assignment
  void begin(const trial::Trial& trial, std::uint32_t attempt = 0);
  const trial::TrainingState* saved() const override;
  bool due(double epochs_done) override;
  void save(const std::function<void(trial::TrainingState&)>& fill) override;
  void save_last(const std::function<void(trial::TrainingState&)>& fill) override;

  /// Returns whether this trial may have checkpoints, or some being written.
  bool has_files() const { return saves_ > 0 || resumed_; }
  /// Returns whether the trial's last state is being published, for trials that continue it.
  bool keeps_last() const { return keeps_last_; }
  /// Returns whether the trial has cost so much that its result should be saved before its commit.
  bool result_worth_keeping() const;
  /// Returns whether a later job can continue from the trial's present state; waits for the storage thread.
  /// Returns true if no checkpoints are wanted.
  bool all_is_saved() const;

 private:
  using Clock = std::chrono::steady_clock;
  class Buffers;

  bool stage(const std::function<void(trial::TrainingState&)>& fill);
  bool interval_is_over(double epochs_done) const;
  bool copying_is_cheap() const;

  std::shared_ptr<CheckpointFolder> folder_;
  const std::atomic<bool>& stop_;
  const bool folders_;
  std::shared_ptr<Buffers> buffers_;  // queued jobs hold it, too
  trial::TrialName trial_;
  std::uint32_t attempt_ = 0;
  std::string provenance_;
  std::optional<store::TrialCheckpoint> found_;
  std::string kept_provenance_;  // provenance of the trial's last state; empty if none is kept
  bool resumed_ = false;         // its own checkpoint was found
  std::uint64_t sequence_ = 0;   // number of the next checkpoint
  std::size_t saves_ = 0;
  bool keeps_last_ = false;
  Clock::time_point began_;
  Clock::time_point last_save_;                // time of the last save, or of the trial's start
  std::optional<double> epochs_at_last_save_;  // epochs at last_save_; no value if unknown
  std::optional<double> epochs_done_;
  bool has_stepped_ = false;     // a step was made since the last save, or the start
  std::int64_t begun_step_ = 0;  // step at which the trial began in this job
  std::int64_t saved_step_ = 0;  // step of the state that was last handed to the storage thread
  std::shared_ptr<std::int64_t> written_step_;  // step in the newest file; used by the storage thread only
  double copy_s_ = 0;                           // time of all saves
  double last_copy_s_ = 0;                      // time of the last save
};

}  // namespace skyline::engine
