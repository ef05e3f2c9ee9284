#pragma once

#include "engine/work/engine_options.hpp"
#include "engine/work/run_files.hpp"
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

/// Keeps this rank's results that may not be in the journal: a commit may have to wait hours for a slow
/// trial, and a result must not be only in memory for longer than a checkpoint's interval. All of them are in
/// one small file of the rank, which the storage thread writes again when there is a new result. If it cannot
/// be written, a kill costs training but no result, so that is a warning. Without checkpoints nothing is
/// kept. Any thread may use it, unless otherwise noted.
class ResultKeeper : public std::enable_shared_from_this<ResultKeeper> {
 public:
  /// The referenced objects must outlive the keeper.
  /// @param options  its checkpoints; without a value no results are kept
  ResultKeeper(const RunFiles& files, const space::SearchSpace& space, int rank,
               const EngineOptions& options);

  /// Takes a result before it is handed in.
  void add(const trial::CommittedTrial& result);
  /// Writes all results now; called on the storage thread. Returns whether they are in the file.
  bool write();
  /// Writes the results that are older than the interval; at a stop all. The main thread polls it.
  void write_if_due();
  /// Has all results written within half a second, whatever the interval. Only the main thread calls it.
  void hurry();
  /// From now on writes results at once, and with patience.
  void stop() { stopping_ = true; }

  /// Notes that a trial of this rank still has a checkpoint, although its result is handed in.
  void leaves_checkpoint(trial::TrialName trial);
  /// Notes that these trials are durable in the journal. Their results are dropped, and remaining checkpoints
  /// removed.
  void journalled(std::span<const trial::TrialName> trials);
  /// Returns the trials that have become durable since the last call, for the other ranks. Rank 0 calls it.
  std::vector<trial::TrialName> take_journalled();

  /// Takes over the results that all ranks of the earlier job left, and writes them into its own file before
  /// the others are removed. Rank 0 calls it when a run is resumed, before any rank trains.
  /// @param committed  commits by then
  trial::ResultsByName recover_results(const trial::CommitLog& committed);
  /// Removes the files of all ranks. Rank 0 calls it when all is in the journal and no rank writes any more.
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
  const std::optional<CheckpointOptions> options_;  // without a value no results are kept
  const bool resume_;
  std::atomic<bool> stopping_{false};
  RareWarning warning_;
  std::mutex mutex_;  // guards the members below
  trial::ResultsByName results_;
  std::optional<Clock::time_point> unsaved_since_;  // time of the oldest result that is not in the file
  bool write_queued_ = false;
  std::set<trial::TrialName> checkpointed_;
  std::vector<trial::TrialName> journalled_;  // trials since the last take_journalled()
};

}  // namespace skyline::engine
