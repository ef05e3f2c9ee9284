#pragma once

#include "engine/work/engine_options.hpp"
#include "engine/work/run_files.hpp"
#include "engine/work/storage_calls.hpp"
#include "store/journal/journal.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace skyline::engine {

/// Keeps this rank's results that are not known to be in the journal: a commit may have to wait behind a
/// straggler for hours, and a result shall not wait in memory alone for longer than a checkpoint's interval.
/// All of them stand in one small file of the rank, written anew by the storage thread when there is a result
/// to add. One that cannot be written costs training after a kill, and no result: it is a warning. Without
/// checkpoints nothing is kept. Any thread, where nothing else is said.
class ResultKeeper : public std::enable_shared_from_this<ResultKeeper> {
 public:
  /// References outlive the keeper.
  /// @param options  its checkpoints: nothing: no results are kept
  ResultKeeper(const RunFiles& files, const space::SearchSpace& space, int rank,
               const EngineOptions& options);

  /// Takes a result before it is handed in.
  void add(const trial::CommittedTrial& result);
  /// On the storage thread: writes all results now. Returns whether they are in the file.
  bool write();
  /// Main thread, polled: has the results written that are older than the interval; at a stop all.
  void look_after();
  /// Main thread: has what is here written within half a second, whatever the interval.
  void hurry();
  /// From now on results are written at once, and with patience.
  void stop() { stopping_ = true; }

  /// A checkpoint of a trial of this rank is there, although its result is handed in.
  void leaves_checkpoint(trial::TrialName trial);
  /// These trials are in the journal, durable; their results are dropped, and checkpoints that are left.
  void journalled(std::span<const trial::TrialName> trials);
  /// Rank 0: the trials that have become durable since the last call, for the other ranks.
  std::vector<trial::TrialName> take_journalled();

  /// Rank 0, in a run that is resumed, before any rank trains: takes over what all ranks of the earlier job
  /// left, and has it in its own file before those of the others go. @param committed  by then
  trial::ResultsByName take_over(const trial::CommitLog& committed);
  /// Rank 0, when all is in the journal and no rank writes any more: removes the files of all ranks.
  void remove_files();

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::duration<double> interval() const;
  trial::ResultsByName not_journalled();

  store::StorageThread& storage_;
  const space::SearchSpace& space_;
  const store::RunPaths paths_;
  const store::JournalHeader header_;
  const int rank_;
  const std::optional<CheckpointOptions> options_;  // nothing: no results are kept
  const bool resume_;
  std::atomic<bool> stopping_{false};
  RareWarning warning_;
  std::mutex mutex_;  // of all below
  trial::ResultsByName results_;
  std::optional<Clock::time_point> unsaved_since_;  // of the oldest result that is not in the file
  bool write_queued_ = false;
  std::set<trial::TrialName> checkpointed_;
  std::vector<trial::TrialName> journalled_;  // since the last take
};

}  // namespace skyline::engine
