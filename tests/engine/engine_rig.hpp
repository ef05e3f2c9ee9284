#pragma once

#include "engine/engine_job.hpp"
#include "evaluate/synthetic_evaluator.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
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

/// How a trial of the rig goes: something done before it, e.g. a delay or an exception, then its steps.
struct TrialScript {
  std::function<void(const trial::Trial&)> hook;
  /// Held trials wait for a request to stop after half of their steps.
  std::function<bool(const trial::Trial&)> held;
  std::int64_t steps = 4;
  bool steps_by_budget = false;  // so many an epoch
  bool saves_at_stop = true;
  /// Of a trial's group; empty: one.
  std::function<std::uint32_t(const trial::Trial&)> members;
  /// Called by each member of a group after the first step.
  std::function<void(const trial::Trial&, std::size_t member)> member_hook;
  bool admits_groups = true;  // if there are members
};

/// The synthetic evaluator, behind a script. Its state is the number of steps that are done and a sum over
/// them, which goes into the result: a step that is left out or done twice changes it. Members of a group
/// agree on every step, and their sum goes into the result: in the wrong order it would have other bits.
class HookedEvaluator final : public trial::Evaluator {
 public:
  using Hook = std::function<void(const trial::Trial&)>;
  using Held = std::function<bool(const trial::Trial&)>;
  explicit HookedEvaluator(TrialScript script);
  double predicted_cost(const trial::Trial& trial) const override {
    return synthetic_->predicted_cost(trial);
  }
  std::uint32_t members_for(const trial::Trial& trial) const override {
    return script_.members ? script_.members(trial) : 1;
  }
  bool forms_groups() const override { return script_.members != nullptr && script_.admits_groups; }
  /// Keeps the trial's number as the only weight.
  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& context) override;
  int calls() const { return calls_; }
  // All of this rank. @pre no slot is at work
  /// Names of the trials that came to their end, with their group's member 0 here; sorted.
  std::vector<std::string> completed() const;
  /// Steps done, by name of the trial; of groups by member 0.
  const std::map<std::string, std::int64_t>& steps() const { return steps_; }
  /// The trial whose weights a trial was given, by trial.
  const std::map<trial::TrialNumber, trial::TrialNumber>& heirs() const { return heirs_; }

 private:
  std::unique_ptr<trial::Evaluator> synthetic_;
  struct Progress {
    double step = 0;
    double sum = 0;
  };
  static void fill(trial::TrainingState& state, const Progress& progress);
  std::int64_t steps_of(const trial::Trial& trial) const;
  bool do_steps(const trial::Trial& trial, trial::EvaluationContext& context, Progress& progress);
  Progress begin(const trial::Trial& trial, trial::EvaluationContext& context);
  bool must_stop(const trial::Trial& trial, trial::EvaluationContext& context, double step) const;

  TrialScript script_;
  std::atomic<int> calls_{0};
  std::mutex mutex_;  // of all below
  std::vector<std::string> completed_;
  std::map<std::string, std::int64_t> steps_;
  std::map<trial::TrialNumber, trial::TrialNumber> heirs_;
};

/// Counts what a listener is told.
class CountingObserver final : public run::RunListener {
 public:
  void started(const run::RunState& state) override { slots = state.account().slots().size(); }
  void phase_begun(const run::RunState& state) override;
  void asked(const trial::Trial& trial) override {
    ++asks;
    if (on_asked) on_asked(trial);
  }
  void committed(const run::Commit& commit, const run::RunState& state) override;
  void released(const trial::Trial& trial) override { releases[trial.number] = replayed + positions.size(); }
  void stopping() override { ++stops; }
  void tick(const run::RunState&) override { ++ticks; }

  std::function<void(const trial::Trial&)> on_asked;
  std::map<trial::TrialNumber, std::size_t> releases;  // by trial: the number of commits by then
  std::size_t slots = 0;
  std::size_t replayed = 0;  // commits
  std::size_t expected = 0;
  std::size_t expected_final = 0;
  std::size_t asks = 0;
  std::size_t most_in_flight = 0;
  int stops = 0;
  int ticks = 0;
  std::vector<trial::CommitPosition> positions;  // of new commits
};

/// Everything of a run but its environment and folder.
struct RunSpec {
  ConfigNode search;                                            // the section
  std::function<std::unique_ptr<search::Searcher>()> searcher;  // in its place; empty: none
  double epochs = 1;                                            // budget of its trials
  std::optional<double> final_epochs;                           // of full training; nothing: there is none
  EngineOptions options;
  HookedEvaluator::Hook hook;
  HookedEvaluator::Held held;
  std::function<void(const trial::Trial&)> asked;  // on rank 0, before it is handed out
  std::int64_t steps = 4;
  bool steps_by_budget = false;
  bool saves_at_stop = true;
  std::function<std::uint32_t(const trial::Trial&)> members;
  std::function<void(const trial::Trial&, std::size_t member)> member_hook;
  bool admits_groups = true;
  std::function<bool()> stop_requested;
  std::function<void(const std::exception&)> failed;
};
/// Evolution over generations, one slot per rank.
RunSpec evolution_spec(std::size_t iterations = 3);

/// RunResult, its state as tables.
struct RigResult {
  std::vector<trial::CommittedTrial> committed;
  std::vector<bool> on_front;  // by position; of full trainings: whether the trial is that they train
  std::string finish_reason;
  bool stopped = false;
  std::size_t unsaved = 0;
  run::RunAccount account;
};

struct RigRun {
  RigResult result;
  CountingObserver observer;
  int evaluations = 0;                 // begun on this rank
  std::vector<std::string> completed;  // of those
  std::map<std::string, std::int64_t> steps;
  std::map<trial::TrialNumber, trial::TrialNumber> heirs;
};

/// Collective over the environment. Rank 0 makes the folders. `resume`: goes on with the journal in `root`.
RigRun run_in(comm::Environment& environment, const std::filesystem::path& root, const RunSpec& spec,
              bool resume = false);

/// Of the run in one process, in a folder of its own.
std::string canonical_of_one_process(const RunSpec& spec);

/// Names in the weights folder, without the extension, ascending.
std::vector<std::string> weight_ids(const std::filesystem::path& root);

}  // namespace skyline::engine
