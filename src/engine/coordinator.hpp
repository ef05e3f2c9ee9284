#pragma once

#include "skyline/engine/run.hpp"
#include "skyline/search/pareto.hpp"
#include "skyline/store/storage_thread.hpp"

#include "engine/account.hpp"
#include "engine/commit_queue.hpp"
#include "engine/dispatcher.hpp"
#include "engine/journal_sink.hpp"
#include "engine/replay.hpp"

#include <chrono>
#include <vector>

namespace skyline::engine {

/// Rank 0's loop: ask, dispatch, collect, commit by number, tell. Replay of a journal is the same loop with
/// recorded results.
class Coordinator {
 public:
  /// References outlive the coordinator.
  Coordinator(const RunInputs& inputs, RunObserver& observer, Dispatcher& dispatcher,
              store::StorageThread& storage, AccountBook& accounts);

  /// The search, then the full training of its front. All but the account is set in the result.
  RunResult run();

 private:
  /// The sort of trials that a phase makes of proposals.
  struct Stage {
    objective::Phase phase;
    double epochs;
  };

  void drive(search::Searcher& searcher, const Stage& stage);
  void ask(search::Searcher& searcher, const Stage& stage);
  bool collect();
  const objective::CommittedTrial& commit(objective::CommittedTrial committed);
  bool update_front(const objective::CommittedTrial& committed);
  void tick();
  void train_front(double epochs);
  std::vector<bool> on_front() const;

  const RunInputs& inputs_;
  RunObserver& observer_;
  Dispatcher& dispatcher_;
  store::StorageThread& storage_;
  AccountBook& accounts_;
  Replay replay_;
  JournalSink journal_;
  const double clock_offset_s_;
  CommitQueue commits_;
  search::ParetoArchive front_;  // keys: numbers of search trials
  std::vector<objective::CommittedTrial> committed_;
  std::chrono::steady_clock::time_point next_tick_{};
};

}  // namespace skyline::engine
