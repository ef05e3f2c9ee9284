#pragma once

#include "skyline/trial/evaluator.hpp"

#include "engine/dispatch/assignment.hpp"
#include "engine/dispatch/dispatcher.hpp"
#include "engine/group/group_hub.hpp"
#include "engine/slots/checkpoints.hpp"
#include "engine/slots/result_keeper.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace skyline::engine {

struct SlotPoolOptions {
  int rank = 0;
  std::size_t slots = 1;
  std::vector<int> processors;  // slot i is bound to processors[i mod size]; empty: free
  std::size_t metrics = 0;      // Evaluator::metrics().size()
  GroupHub* groups = nullptr;   // outlives the pool; nullptr: no trial has several members
  std::chrono::steady_clock::time_point run_started;  // zero of TrialTiming::started_s
};

/// Takes a trial's weights away to be written by the storage thread, which calls `written` when they are
/// safe.
using WeightsSink = std::function<void(const trial::Trial& trial, std::vector<trial::NamedTensor> weights,
                                       std::function<void()> written)>;

/// Waits for the weights that a trial starts from; nullptr if `stop` is set before they are there.
/// @throws UserError if they cannot be read
using WeightsSource = std::function<std::shared_ptr<const std::vector<trial::NamedTensor>>(
    const trial::Trial& trial, const std::atomic<bool>& stop)>;

/// Where slots find what a trial needs, and put what is to be kept of it. Used by slot threads.
struct SlotFiles {
  WeightsSink weights;                            // empty: weights are not asked for
  WeightsSource inherited;                        // empty: no trial inherits
  std::shared_ptr<CheckpointFolder> checkpoints;  // nullptr: none
  std::shared_ptr<ResultKeeper> results;          // nullptr: none are kept
};

/// The slots of a rank: a thread each, which trains the trials of its queue one after the other. Whatever a
/// trial throws is its Failure. This rank's members of a group's trial are trained by one slot, with threads
/// of its own for all but the first. Used by the rank's main thread; never blocks it, but for the destructor.
class SlotPool {
 public:
  /// @param evaluator  outlives the pool
  SlotPool(const SlotPoolOptions& options, trial::Evaluator& evaluator, SlotFiles files);
  /// Asks running trials to stop and waits for them; queued ones are dropped.
  ~SlotPool();
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  std::size_t slots() const;
  void submit(std::size_t slot, Assignment assignment);
  /// Asks running trials to save their state and stop. Those that have not begun, now and later, come back as
  /// Failure{kStopped} at once, or of groups as soon as their other members have heard of it.
  void request_stop();
  /// Results that are there since the last call; of a trial with files, once these are written. What this
  /// rank did for a trial that another rank leads comes as Arrival::helper.
  /// @throws what a slot met that is no trial's fault
  std::vector<Arrival> take();

 private:
  struct State;
  std::shared_ptr<State> state_;  // also held by callbacks of the sink
};

}  // namespace skyline::engine
