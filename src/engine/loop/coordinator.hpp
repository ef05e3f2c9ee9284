#pragma once

#include "engine/dispatch/dispatcher.hpp"
#include "engine/dispatch/stop_channel.hpp"
#include "engine/loop/commit_queue.hpp"
#include "engine/loop/journal_sink.hpp"
#include "engine/loop/replay.hpp"
#include "engine/loop/run.hpp"
#include "engine/slots/account.hpp"
#include "engine/slots/checkpoints.hpp"
#include "engine/slots/result_keeper.hpp"
#include "engine/weights/weights_keeper.hpp"
#include "search/pareto/pareto.hpp"
#include "store/publish/storage_thread.hpp"
#include "trial/commit_log.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace skyline::engine {

/// Rank 0's loop: ask, dispatch, collect, commit by number, tell. Replay of a journal is the same loop with
/// recorded results.
class Coordinator {
 public:
  /// References outlive the coordinator.
  Coordinator(const RunInputs& inputs, RunObserver& observer, Dispatcher& dispatcher,
              CheckpointFolder& checkpoints, std::shared_ptr<ResultKeeper> results, StopChannel& stop,
              AccountBook& accounts);

  /// The search, then the full training of its front; or what was done of them when a stop was asked for.
  /// All but the account is set in the result.
  RunResult run();

 private:
  /// The sort of trials that a phase makes of proposals.
  struct Stage {
    trial::Phase phase;
    double epochs;
  };

  /// Returns whether the searcher came to its end; if not, the run stops.
  bool drive(search::Searcher& searcher, const Stage& stage);
  void ask(search::Searcher& searcher, const Stage& stage);
  trial::Trial make_trial(trial::Proposal proposal, const Stage& stage);
  const trial::CommittedTrial& search_trial(trial::TrialNumber number) const;
  void obey_stop();
  bool collect();
  const trial::CommittedTrial& commit(trial::CommittedTrial committed);
  bool update_front(const trial::CommittedTrial& committed);
  void look_after_run();
  void await_helpers();
  void drain_storage();
  bool train_front(double epochs);
  void end_replay();
  std::vector<bool> on_front() const;

  const RunInputs& inputs_;
  RunObserver& observer_;
  Dispatcher& dispatcher_;
  store::StorageThread& storage_;
  CheckpointFolder& checkpoints_;
  std::shared_ptr<ResultKeeper> results_;
  StopChannel& stop_;
  AccountBook& accounts_;
  Replay replay_;
  JournalSink journal_;
  CommitQueue commits_;
  WeightsRemoval weights_;
  search::ParetoArchive front_;                   // keys: numbers of search trials
  std::vector<trial::CommittedTrial> committed_;  // by position
  trial::CommitLog log_;                          // of them
  trial::TrialNumber next_number_ = 0;
  std::size_t unsaved_ = 0;
  bool stopping_ = false;
  std::chrono::steady_clock::time_point next_tick_{};
};

}  // namespace skyline::engine
