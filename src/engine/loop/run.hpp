#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/search/searcher.hpp"
#include "skyline/trial/evaluator.hpp"

#include "comm/environment.hpp"
#include "store/publish/storage_thread.hpp"
#include "store/run_folder/journal.hpp"
#include "store/run_folder/run_folder.hpp"
#include "store/run_folder/run_stamp.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace skyline::engine {

enum class KeepWeights { kNone, kFront, kAll };

/// When half-trained trials are saved.
struct CheckpointOptions {
  std::optional<double> interval_s = 60;  // since the trial's start or its last checkpoint; either this
  std::optional<double> interval_epochs;  // or that
  /// Most share of the training time that a slot spends on copying its state: the interval grows if need be.
  double most_overhead = 0.005;
};

struct EngineOptions {
  std::uint64_t seed = 1;
  double epochs = 1;                   // budget of search trials
  std::optional<double> final_epochs;  // full training of the front after the search; nothing: none
  std::optional<std::size_t>
      window;  // trials asked and not committed, at most; nothing: a generation at a time
  KeepWeights keep_weights = KeepWeights::kFront;
  std::optional<CheckpointOptions> checkpoints = CheckpointOptions{};  // nothing: none, not even at a stop
  bool inherit = false;  // children start from the weights of a parent; needs keep_weights
  /// Of weights that a rank keeps in memory for the children of its own trials, if they inherit.
  std::size_t recent_weights_bytes = std::size_t{256} << 20;
  bool resume = false;            // an earlier job may have left checkpoints
  bool coordinator_only = false;  // rank 0 does not train; needs 2 ranks
  /// Of a rank; nothing: as many as the evaluator wants, else its processors / threads_per_slot, at least 1.
  std::optional<std::size_t> slots;
  int threads_per_slot = 1;
};

/// What a slot did, in seconds of wall clock.
struct SlotAccount {
  int rank = 0;
  int slot = 0;
  std::string host;
  std::size_t trials = 0;
  double setup_s = 0;
  double train_s = 0;
  double validate_s = 0;
  double latency_s = 0;
  double idle_s = 0;  // wall - all of the above
};

struct RunAccount {
  double wall_s = 0;               // of this job, from the start of the engine to its end
  std::vector<SlotAccount> slots;  // this job's slots, by rank and slot
  double utilization() const;      // busy / (wall * slots); busy = train + validate + latency
};

/// Rank 0 is told what happens; called by its main thread; must be quick.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Slots of the whole run, trials already in the journal, upper bound of the search's trials.
  virtual void started(const std::vector<SlotAccount>& slots, std::size_t replayed, std::size_t expected) = 0;
  /// A new commit (not called for replayed ones); `in_flight` trials are asked and not committed.
  virtual void committed(const trial::CommittedTrial& trial, bool on_front, std::size_t in_flight) = 0;
  /// The full training begins; `expected` counts its trials alone.
  virtual void phase_changed(trial::Phase phase, std::size_t expected) = 0;
  /// The run is asked to stop: running trials save their state. Called once, if at all.
  virtual void stopping() {}
  /// Called about ten times a second from the main loop: progress line, heartbeat, status file.
  virtual void tick() = 0;
};

struct RunResult {
  std::vector<trial::CommittedTrial> committed;  // rank 0: the whole journal; else empty
  std::vector<bool> on_front;  // of the search phase's front; final trials: those of that front
  std::string finish_reason;
  bool stopped = false;     // on request; a later job with `resume` goes on
  std::size_t unsaved = 0;  // trials that were stopped, and whose last state could not be saved
  RunAccount account;
};

/// What a run works on; references outlive the call. `replay` and `journal` matter on rank 0 alone.
struct RunInputs {
  comm::Environment& environment;
  const space::SearchSpace& space;
  const objective::ObjectiveSet& objectives;
  trial::Evaluator& evaluator;
  const ConfigNode& search;  // the section, complete
  EngineOptions options;
  store::RunPaths paths;
  std::optional<store::JournalContents> replay;  // a journal to go on from
  store::JournalHeader header;                   // of a new journal
  /// Writes this rank's files; outlives the slots.
  store::StorageThread& storage;
  /// Polled by every rank's main thread: true once the run should stop early. It is enough that one rank's
  /// says so. Empty: never.
  std::function<bool()> stop_requested = {};
  /// Told of an error before the slots are waited for, which may be in the middle of a long step: may end the
  /// process. Empty: the error is thrown when the slots have stopped.
  std::function<void(const std::exception&)> failed = {};
};

/// What this run's files are stamped with.
store::RunStamp stamp_of(const RunInputs& inputs);

/// Collective: the whole run. Rank 0 asks, scatters, commits, tells; every rank trains.
/// @throws UserError, InternalError; the caller reports and ends all ranks (Environment::abort)
RunResult run(const RunInputs& inputs, RunObserver& observer);

/// Seed of a trial's training: of the run's seed, the architecture and the budget alone.
std::uint64_t trial_seed(std::uint64_t run_seed, space::ArchId arch, double epochs);

}  // namespace skyline::engine
