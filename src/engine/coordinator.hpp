#pragma once

#include "skyline/engine/run.hpp"
#include "skyline/search/pareto.hpp"
#include "skyline/store/storage_thread.hpp"

#include "engine/account.hpp"
#include "engine/checkpoints.hpp"
#include "engine/commit_queue.hpp"
#include "engine/dispatcher.hpp"
#include "engine/journal_sink.hpp"
#include "engine/replay.hpp"
#include "engine/result_keeper.hpp"
#include "engine/stop_channel.hpp"
#include "engine/weights_keeper.hpp"

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
    objective::Phase phase;
    double epochs;
  };

  /// Returns whether the searcher came to its end; if not, the run stops.
  bool drive(search::Searcher& searcher, const Stage& stage);
  void ask(search::Searcher& searcher, const Stage& stage);
  objective::Trial make_trial(objective::Proposal proposal, const Stage& stage);
  void obey_stop();
  bool collect();
  const objective::CommittedTrial& commit(objective::CommittedTrial committed);
  bool update_front(const objective::CommittedTrial& committed);
  void look_after_run();
  void await_helpers();
  void drain_storage();
  bool train_front(double epochs);
  bool is_trained(const objective::Trial& member, double epochs) const;
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
  search::ParetoArchive front_;  // keys: numbers of search trials
  std::vector<objective::CommittedTrial> committed_;
  std::size_t unsaved_ = 0;
  bool stopping_ = false;
  std::chrono::steady_clock::time_point next_tick_{};
};

}  // namespace skyline::engine
