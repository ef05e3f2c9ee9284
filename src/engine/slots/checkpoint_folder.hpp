#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/work/engine_options.hpp"
#include "engine/work/run_files.hpp"
#include "run/run_state.hpp"
#include "store/journal/trial_json.hpp"
#include "store/run_folder/running_trials.hpp"
#include "store/weights/checkpoint.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace skyline::engine {

/// This rank's way to the run's checkpoints and kept states, shared by its slots; only its storage thread
/// touches files. One that cannot be made or written costs time later, but no result: it is logged as a
/// warning, at most once a minute, and the run continues.
class CheckpointFolder : public run::RunListener, public std::enable_shared_from_this<CheckpointFolder> {
 public:
  /// @param options  without a value no checkpoints are written, but kept states are
  /// @param resume   an earlier job may have left some
  /// @param running  is notified which trials advance; may be nullptr
  CheckpointFolder(const RunFiles& files, const std::optional<CheckpointOptions>& options, bool resume,
                   int rank = 0, std::shared_ptr<store::RunningTrials> running = nullptr);

  /// Returns nullopt if checkpoints are not written.
  const std::optional<CheckpointOptions>& options() const { return options_; }
  store::StorageThread& storage() const { return storage_; }
  std::string provenance(const trial::Trial& trial) const { return store::provenance(trial, run_); }

  /// Notes that trials must stop: what they save is their last state, written with a short patience.
  void stop();
  /// Returns the state of a trial that an earlier job, or an earlier attempt, saved. If there may be one, it
  /// waits for the storage thread.
  std::optional<store::FoundCheckpoint> find(trial::TrialName trial, const std::string& provenance,
                                             std::uint32_t attempt) const;
  /// Writes a checkpoint; called on the storage thread. Returns whether the file exists.
  /// @param last  true for a trial that stops
  bool write(const store::TrialCheckpoint& checkpoint, std::uint64_t sequence, bool last);
  /// Notes that a trial has saved a later state than the one with which it began in this job. The trial is
  /// then no longer suspected of ending jobs. Called on the storage thread.
  void advanced(trial::TrialName trial);
  void warn_of_one_left_out(trial::TrialName trial, const std::string& problem);
  /// Removes the checkpoints of so many attempts of a trial whose result is in a file. Called on the storage
  /// thread.
  void remove_now(trial::TrialName trial, std::uint32_t attempts) {
    store::remove_checkpoints(paths_, trial, attempts);
  }

  /// Returns the provenance of the state that a trial keeps for those that continue it.
  std::string kept_provenance(const trial::Trial& trial) const {
    return store::kept_provenance(trial.number, trial, run_);
  }
  /// Keeps a state; called on the storage thread.
  /// @param state  has that provenance
  void keep(const store::TrialCheckpoint& state);
  /// Returns the state that was kept by the trial which `trial` continues. Waits, with a limit, for a file of
  /// another rank that is not visible yet. Returns nullopt, with a warning, if it is lost, or if `stop` is
  /// set meanwhile.
  std::optional<trial::TrainingState> find_kept(const trial::Trial& trial,
                                                const std::atomic<bool>& stop) const;

  // Called on rank 0:
  void started(const run::RunState& state) override;
  /// Removes the checkpoints that an earlier job or a lost rank left of a committed trial, after everything
  /// that is queued; a kept state stays. The rank that trained the trial removes the others.
  void committed(const run::Commit& commit, const run::RunState& state) override;
  void released(const trial::Trial& trial) override;
  void lost(const store::RankLoss& loss) override { lost_.insert(loss.rank); }
  /// Also deletes the checkpoints of abandoned attempts when the trial is committed.
  void again(trial::TrialName trial) override { again_.insert(trial); }

 private:
  using Clock = std::chrono::steady_clock;

  const std::set<trial::TrialName>& left_by_earlier_job() const;

  store::StorageThread& storage_;
  const store::RunPaths paths_;
  const store::RunStamp run_;
  const std::optional<CheckpointOptions> options_;
  const bool resume_;
  const int rank_;
  const std::shared_ptr<store::RunningTrials> running_;
  std::atomic<Clock::time_point> patient_until_ = Clock::time_point::max();
  RareWarning warning_;
  mutable std::once_flag looked_;
  mutable std::set<trial::TrialName> left_;  // trials that had checkpoints when the job began, see looked_
  std::set<trial::TrialNumber> kept_;        // on rank 0: trials that may have a kept state
  std::set<trial::TrialName> again_;         // on rank 0: trials that have had several attempts
  std::set<int> lost_;                       // on rank 0: lost ranks
};

}  // namespace skyline::engine
