#pragma once

#include "skyline/core/random.hpp"

#include "engine/engine_rig.hpp"
#include "engine/loop/front_training.hpp"
#include "engine/loop/search_loop.hpp"
#include "support/commit_log_of.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::engine {

/// A cluster that takes no time: its slots train trials for times of their own, and a pause of its clock
/// lasts until the next result.
class SimulatedCluster final : public Dispatcher, public Clock {
 public:
  explicit SimulatedCluster(std::size_t slots) : free_s_(slots, 0.0) {}

  void submit(std::span<const AskedTrial> trials) override {
    for (const AskedTrial& trial : trials) {
      const auto slot = std::ranges::min_element(free_s_);
      *slot = std::max(*slot, now_s_) + seconds(*trial);
      ends_.emplace(*slot, trial);
      ++submitted;
    }
  }
  std::span<Arrival> poll() override {
    arrivals_.clear();
    while (!ends_.empty() && ends_.begin()->first <= now_s_) {
      arrivals_.push_back(result(*ends_.begin()->second));
      ends_.erase(ends_.begin());
    }
    return arrivals_;
  }
  void stop() override {
    for (auto& [end_s, trial] : std::exchange(ends_, {})) ends_.emplace(now_s_, std::move(trial));
    stopped_ = true;
  }
  bool idle() const override { return ends_.empty(); }

  double now_s() const override { return now_s_; }
  void pause() override {
    if (!ends_.empty()) now_s_ = std::max(now_s_, ends_.begin()->first);
  }
  void worked() override {}

  std::size_t submitted = 0;
  trial::TrialNumber failing = 0;  // those before fail

 private:
  static double seconds(const trial::Trial& trial) {
    return 1 + 99 * RandomStream(derive_seed(trial.number, "seconds", {})).uniform();
  }
  Arrival result(const trial::Trial& trial) const {
    if (stopped_) return {trial.name(), trial::Failure{trial::FailureKind::kStopped, "stopped"}, {}};
    if (trial.number < failing)
      return {trial.name(), trial::Failure{trial::FailureKind::kDiverged, "NaN"}, {}};
    return {
        trial.name(), trial::Measurements{{RandomStream(trial.seed).uniform()}}, {.train_s = seconds(trial)}};
  }

  double now_s_ = 0;
  bool stopped_ = false;
  std::vector<double> free_s_;     // when each slot is free
  std::vector<Arrival> arrivals_;  // of the last poll
  std::multimap<double, AskedTrial> ends_;
};

/// Asks for one architecture after the other, whatever it is told, and remembers that.
class Enumeration final : public search::Searcher {
 public:
  explicit Enumeration(std::size_t trials) : trials_(trials) {}
  std::vector<trial::Proposal> ask(std::size_t room) override {
    std::vector<trial::Proposal> proposals;
    for (; proposals.size() < room && asked_ < trials_; ++asked_) {
      proposals.push_back({.architecture = architectures().at(asked_ % architectures().size()),
                           .origin = trial::Origin::kEnumerated,
                           .parents = {},
                           .iteration = 0,
                           .budget = {},
                           .start = {},
                           .trains = {}});
    }
    return proposals;
  }
  void tell(const trial::CommittedTrial& committed) override { told.push_back(committed.trial.number); }
  bool finished() const override { return asked_ == trials_; }
  std::string finish_reason() const override { return "all asked"; }
  std::size_t expected_trials() const override { return trials_; }

  std::vector<trial::TrialNumber> told;

 private:
  using Architectures = std::vector<std::shared_ptr<const space::Architecture>>;
  static const Architectures& architectures() {
    static const Architectures all = [] {
      Architectures made;
      for (std::int64_t i = 0; i < 32; ++i) {
        made.push_back(
            std::make_shared<space::Architecture>(test_space().build(test_space().genotype_at(i))));
      }
      return made;
    }();
    return all;
  }
  std::size_t trials_;
  std::size_t asked_ = 0;
};

/// One number alone is measured.
class OneMetric final : public trial::Evaluator {
 public:
  double predicted_cost(const trial::Trial& trial) const override {
    return static_cast<double>(1 + RandomStream(derive_seed(trial.number, "cost", {})).below(1000));
  }
  trial::Outcome evaluate(const trial::Trial&, trial::EvaluationContext&) override {
    return trial::Failure{trial::FailureKind::kException, "the cluster is simulated"};
  }
};

/// A whole run without a rank, a file or a second.
struct SimulatedRun {
  SimulatedRun(std::size_t slots, std::optional<std::size_t> window,
               const std::vector<trial::CommittedTrial>& journal = {},
               std::optional<std::size_t> virtual_slots = {})
      : cluster(slots), replay(testing::commit_log_of(journal), {}) {
    options.window = window;
    options.virtual_slots = virtual_slots;
    order = make_commit_order(options);
    state.account() = run::AccountBook(std::vector<run::SlotAccount>(1));
  }
  /// Returns whether it came to its end.
  bool run(
      search::Searcher& searcher, std::function<bool()> must_stop = [] { return false; },
      std::function<bool()> is_hopeless = {}) {
    SearchLoop loop(maker, replay, *order, cluster, cluster, state, {&observer}, std::move(must_stop),
                    std::move(is_hopeless));
    if (!loop.run(searcher, trial::Phase::kSearch)) return false;
    FrontTraining training(state, state.front().keys(), {10});
    if (!loop.run(training, trial::Phase::kFinal)) return false;
    loop.end_replay();
    return true;
  }
  std::vector<trial::CommittedTrial> journal() const {
    std::vector<trial::CommittedTrial> lines;
    for (const run::SharedTrial& committed : state.trials()) lines.push_back(*committed);
    return lines;
  }

  SimulatedCluster cluster;
  OneMetric evaluator;
  EngineOptions options;
  run::RunState state{test_objectives()};
  TrialMaker maker{options, evaluator, state};
  Replay replay;
  std::unique_ptr<CommitOrder> order;
  CountingObserver observer;
};

/// Equal for runs that committed the same in the same order.
inline std::vector<std::pair<trial::TrialName, double>> commits_of(const run::RunState& state) {
  std::vector<std::pair<trial::TrialName, double>> commits;
  for (const run::SharedTrial& committed : state.trials()) {
    commits.emplace_back(committed->trial.name(),
                         std::get<trial::Measurements>(committed->outcome).values.at(0));
  }
  return commits;
}

}  // namespace skyline::engine
