#pragma once

#include "engine/slots/result_keeper.hpp"
#include "engine/work/run_files.hpp"
#include "run/run_state.hpp"

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

}  // namespace skyline::engine
