#pragma once

#include "engine/slots/result_keeper.hpp"
#include "engine/work/run_files.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <memory>

namespace skyline::engine {

/// Rank 0's way into the journal: appends new commits on the storage thread, in order, with one fsync for all
/// that have arrived meanwhile. StorageThread::rethrow_failure throws its failures.
class JournalSink final : public run::RunListener {
 public:
  /// Creates the journal, or opens the one that is replayed. @throws UserError
  /// @param replayed  nullptr for a new run
  /// @param results   notified of what has become durable
  JournalSink(const RunFiles& files, const space::SearchSpace& space, const store::JournalContents* replayed,
              std::shared_ptr<ResultKeeper> results);
  void committed(const run::Commit& commit, const run::RunState& state) override;
  void waits(const trial::CommittedTrial& result) override;
  void lost(const store::RankLoss& loss) override;
  void failed(trial::TrialName trial, const store::FailedTry& failed) override;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with queued jobs
  store::StorageThread& storage_;
};

/// Writes on rank 0, on the storage thread, which trials of a search with a window are in flight when one is
/// asked for (store::write_asked_trials). After a kill the next job takes them from there.
class AskedTrialsWriter final : public run::RunListener {
 public:
  /// `space` must outlive all jobs of the storage thread.
  /// @param replayed  number of lines of the journal; their trials are not written
  AskedTrialsWriter(const RunFiles& files, const space::SearchSpace& space, std::size_t replayed);
  void asked(const trial::Trial& trial) override;
  void committed(const run::Commit& commit, const run::RunState& state) override;
  /// Removes the file when the run is complete.
  void remove_file();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with queued jobs
  store::StorageThread& storage_;
  const std::size_t replayed_;
};

}  // namespace skyline::engine
