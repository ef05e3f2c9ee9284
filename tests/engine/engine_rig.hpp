#pragma once

#include "skyline/engine/run.hpp"
#include "skyline/evaluate/synthetic_evaluator.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace skyline::engine {

/// A folder of its own below the system's temporary folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A space of 32 small networks.
const space::SearchSpace& test_space();
const objective::ObjectiveSet& test_objectives();

/// The synthetic evaluator, with something done before each trial: a delay, an exception, a wait for a stop.
class HookedEvaluator final : public objective::Evaluator {
 public:
  using Hook = std::function<void(const objective::Trial&)>;
  /// Trials that are held wait for a request to stop, and stop then.
  using Held = std::function<bool(const objective::Trial&)>;
  explicit HookedEvaluator(Hook hook = {}, Held held = {});
  std::vector<std::string> metrics() const override { return synthetic_->metrics(); }
  double predicted_cost(const objective::Trial& trial) const override {
    return synthetic_->predicted_cost(trial);
  }
  /// Keeps the trial's number as the only weight.
  objective::Outcome evaluate(const objective::Trial& trial, objective::EvaluationContext& context) override;
  int calls() const { return calls_; }
  /// Trials that came to their end here, ascending. @pre no slot is at work
  std::vector<objective::TrialNumber> completed() const;

 private:
  std::unique_ptr<objective::Evaluator> synthetic_;
  Hook hook_;
  Held held_;
  std::atomic<int> calls_{0};
  std::mutex mutex_;  // of the list
  std::vector<objective::TrialNumber> completed_;
};

/// Counts what an observer is told.
class CountingObserver final : public RunObserver {
 public:
  void started(const std::vector<SlotAccount>& slots, std::size_t replayed, std::size_t expected) override;
  void committed(const objective::CommittedTrial& trial, bool on_front, std::size_t in_flight) override;
  void phase_changed(objective::Phase phase, std::size_t expected) override;
  void stopping() override { ++stops; }
  void tick() override { ++ticks; }

  std::size_t slots = 0;
  std::size_t replayed = 0;
  std::size_t expected = 0;
  std::size_t expected_final = 0;
  std::size_t most_in_flight = 0;
  int stops = 0;
  int ticks = 0;
  std::vector<objective::TrialNumber> numbers;
};

/// Everything of a run but its environment and folder.
struct RunSpec {
  search::SearchOptions search;
  EngineOptions options;
  HookedEvaluator::Hook hook;
  HookedEvaluator::Held held;
  std::function<bool()> stop_requested;
};
/// Evolution over three generations, one slot a rank.
RunSpec evolution_spec();

struct RigRun {
  RunResult result;
  CountingObserver observer;
  int evaluations = 0;                            // begun on this rank
  std::vector<objective::TrialNumber> completed;  // of those
};

/// Collective over the environment. Rank 0 makes the folders. `resume`: goes on with the journal in `root`.
RigRun run_in(comm::Environment& environment, const std::filesystem::path& root, const RunSpec& spec,
              bool resume = false);

/// Of the run in one process, in a folder of its own.
std::string canonical_of_one_process(const RunSpec& spec);

/// Names in the weights folder, without the extension, ascending.
std::vector<std::string> weight_ids(const std::filesystem::path& root);

}  // namespace skyline::engine
