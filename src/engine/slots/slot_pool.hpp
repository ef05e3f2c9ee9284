#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/metric.hpp"

#include "engine/group/group_hub.hpp"
#include "engine/slots/checkpoints.hpp"
#include "engine/slots/known_values.hpp"
#include "engine/slots/result_keeper.hpp"
#include "engine/slots/trial_folders.hpp"
#include "engine/work/dispatcher.hpp"
#include "engine/work/placement.hpp"
#include "store/journal/learning_curves.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::engine {

struct SlotPoolOptions {
  const EngineOptions& engine;  // must outlive the pool
  int rank = 0;
  std::size_t slots = 1;
  trial::Place place = {};  // place of this rank
  bool binds = false;  // whether slot i, or member i of a group's trial, is bound to processors[i mod size]
  std::vector<trial::Metric> metrics = {};  // metrics of Measurements::values
  std::vector<std::string> needed = {};     // names of the metrics that objectives and constraints use
  double stuck_after_s = 60;   // time after the end of a trial's time when it counts as not stopping
  GroupHub* groups = nullptr;  // must outlive the pool; nullptr if no trial has several members
  std::chrono::steady_clock::time_point run_started = {};  // zero of TrialTiming::started_s
};

/// Hands a trial's weights, and its answers unless they are empty, to the storage thread, which calls
/// `written` when they are durable.
using WeightsSink = std::function<void(const trial::Trial& trial, std::vector<trial::NamedTensor> weights,
                                       std::string answers, std::function<void()> written)>;

/// Hands a training's learning curve to the storage thread, which calls `written`, if it is set, when the
/// curve is in its file or given up.
using CourseSink = std::function<void(const store::TrainingKey& training,
                                      std::vector<trial::CurvePoint> course, std::function<void()> written)>;

/// Waits for the weights from which a trial starts. Returns nullptr if `stop` is set before they arrive. Adds
/// the wait to `timing`. @throws UserError if they cannot be read
using WeightsSource = std::function<std::shared_ptr<const std::vector<trial::NamedTensor>>(
    const trial::Trial& trial, const std::atomic<bool>& stop, trial::TrialTiming& timing)>;

/// Sources and destinations of a trial's files. Used by slot threads.
struct SlotFiles {
  WeightsSink weights;                                 // empty if weights are not kept
  WeightsSource inherited;                             // empty if no trial inherits
  std::shared_ptr<CheckpointFolder> checkpoints;       // nullptr if there are none
  std::shared_ptr<ResultKeeper> results;               // nullptr if results are not kept
  CourseSink courses = {};                             // empty if learning curves are not kept
  std::shared_ptr<store::RunningTrials> running = {};  // nullptr if running trials are not noted
  // describes a trial for people; empty if nobody watches
  std::function<std::string(const trial::Trial& trial)> describe = {};
  std::shared_ptr<TrialFolders> folders = {};  // nullptr if trials have none
  std::shared_ptr<RankValues> values = {};     // nullptr if nothing is known before a trial ends
};

/// The slots of a rank: each is a thread, which trains the trials of its queue one after the other. An
/// exception of a trial becomes its Failure. One slot trains this rank's members of a group's trial, with one
/// more thread per member after the first. Used by the rank's main thread, which only the destructor blocks.
class SlotPool {
 public:
  /// @param evaluator  must outlive the pool
  SlotPool(const SlotPoolOptions& options, trial::Evaluator& evaluator, SlotFiles files);
  /// asks running trials to stop and waits for them; drops queued ones
  ~SlotPool();
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  std::size_t slots() const;
  void submit(std::size_t slot, Assignment assignment);
  /// Notes that a rank of a group is lost (GroupHub::give_up). Its trial comes back as Arrival::follower.
  void give_up(std::uint64_t sequence);
  /// Asks running trials to save their state and stop. Trials that have not begun, now or later, return as
  /// Failure{kStopped} at once; trials of groups when their other members know about the stop.
  void request_stop();
  /// Returns the results since the last call; a trial with files is among them once the files are written.
  /// This rank's part of a trial that another rank leads comes as Arrival::follower. Call it again and again:
  /// it also shows the other ranks of a group that this one runs, and warns about a trial that does not stop.
  /// @throws an error of a slot that is no trial's fault
  std::vector<Arrival> take_arrivals();
  /// Returns how many submitted trials have not come back by take_arrivals(), and are not about to. Any
  /// thread may call it.
  std::size_t under_way() const;
  /// Returns a trial that does not stop although its time is over (SlotPoolOptions::stuck_after_s), or
  /// nullopt.
  std::optional<trial::TrialName> stuck() const;
  /// Returns slots that have become free since the last call, before the results of their trials are there.
  std::vector<TrainedPart> take_trained();

 private:
  struct State;
  std::shared_ptr<State> state_;  // callbacks of the sink hold it too
};

}  // namespace skyline::engine
