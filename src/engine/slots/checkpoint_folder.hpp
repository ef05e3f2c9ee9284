#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/work/engine_options.hpp"
#include "engine/work/run_files.hpp"
#include "engine/work/storage_calls.hpp"
#include "run/run_state.hpp"
#include "store/journal/provenance.hpp"
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

/// This rank's way to the run's checkpoints and kept states, shared by its slots; all files are touched by
/// its storage thread. One that cannot be made or written costs time, at a resume or where a trial is
/// continued, and no result: it is a warning, at most once a minute, and the run goes on.
class CheckpointFolder : public run::RunListener, public std::enable_shared_from_this<CheckpointFolder> {
 public:
  /// @param options  nothing: no checkpoints are written, though kept states are
  /// @param resume   an earlier job may have left some
  /// @param running  learns which trials advance; nullptr: nobody does
  CheckpointFolder(const RunFiles& files, const std::optional<CheckpointOptions>& options, bool resume,
                   int rank = 0, std::shared_ptr<store::RunningTrials> running = nullptr);

  /// Nothing: checkpoints are not written.
  const std::optional<CheckpointOptions>& options() const { return options_; }
  store::StorageThread& storage() const { return storage_; }
  std::string provenance(const trial::Trial& trial) const { return store::provenance(trial, run_); }

  /// The trials of this rank are asked to stop: what they save is their last, and written with patience, but
  /// not for long.
  void stop();
  /// The state of a trial that an earlier job, or an earlier attempt, saved; if there may be one, waits for
  /// the storage thread.
  std::optional<store::FoundCheckpoint> find(trial::TrialName trial, const std::string& provenance,
                                             std::uint32_t attempt) const;
  /// On the storage thread. Returns whether the file is there.
  /// @param last  of a trial that stops
  bool write(const store::TrialCheckpoint& checkpoint, std::uint64_t sequence, bool last);
  /// On the storage thread: a checkpoint is ahead of where the trial began in this job. Nobody suspects it
  /// any more.
  void advanced(trial::TrialName trial);
  void warn_of_one_left_out(trial::TrialName trial, const std::string& problem);
  /// On the storage thread: of a trial whose result is in a file, and of so many attempts.
  void remove_now(trial::TrialName trial, std::uint32_t attempts) {
    store::remove_checkpoints(paths_, trial, attempts);
  }

  /// The provenance of the state that a trial keeps for those that continue it.
  std::string kept_provenance(const trial::Trial& trial) const {
    return store::kept_provenance(trial.number, trial, run_);
  }
  /// On the storage thread. @param state  with that provenance
  void keep(const store::TrialCheckpoint& state);
  /// The state that was kept by the trial that `trial` continues. Waits, with a bound, for a file of another
  /// rank that does not show yet. Nothing, with a warning, if it is lost; nothing if `stop` is set meanwhile.
  std::optional<trial::TrainingState> find_kept(const trial::Trial& trial,
                                                const std::atomic<bool>& stop) const;

  // Rank 0:
  void started(const run::RunState& state) override;
  /// Those that an earlier job or a lost rank left of a trial that is in the journal go, after everything
  /// that is queued; a kept state stays. The others are removed by the rank that trained the trial.
  void committed(const run::Commit& commit, const run::RunState& state) override;
  void released(const trial::Trial& trial) override;
  void lost(const store::RankLoss& loss) override { lost_.insert(loss.rank); }
  /// Those of the attempts that are given up must go, too.
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
  mutable std::set<trial::TrialName> left_;  // since then: that had checkpoints as the job began
  std::set<trial::TrialNumber> kept_;        // rank 0: that may have a kept state
  std::set<trial::TrialName> again_;         // rank 0: that have had several attempts
  std::set<int> lost_;                       // rank 0: ranks
};

}  // namespace skyline::engine
