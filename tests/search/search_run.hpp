#pragma once

#include "skyline/search/algorithm.hpp"

#include "support/cnn_space.hpp"
#include "support/yaml_config.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::testing {

/// The reference system's space: 192 architectures of a small CNN on 1x28x28 images of 10 classes.
inline space::SearchSpace archai_space() {
  const ConfigNode section = config_from_yaml(kCnnSpace, "space.yaml", "space");
  return space::SearchSpace::parse(section, {{1, 28, 28}, 10});
}

/// A space with a layer that does not fit for some genotypes, and with genotypes that build the same network.
inline space::SearchSpace uneven_space() {
  return space::SearchSpace::parse(config_from_yaml(R"(
parameters:
  blocks: {choice: [0, 1]}
  kernel: {choice: [1, 3, 9]}
  width:  {choice: [2, 4], weights: [1, 3]}
network:
  - repeat: $blocks
    body:
      - conv2d: {channels: $width, kernel: $kernel, padding: 0}
  - global_average_pool
  - linear: {features: $classes}
)",
                                                    "space.yaml", "space"),
                                   {{1, 5, 5}, 3});
}

/// A space of 4^6 networks.
inline space::SearchSpace kernels_space() {
  return space::SearchSpace::parse(config_from_yaml(R"(
parameters:
  kernel: {choice: [1, 3, 5, 7], each: true}
  width: {choice: [4, 8, 12, 16], each: true}
network:
  - repeat: 3
    body: [{conv2d: {channels: $width, kernel: $kernel}}, relu]
  - global_average_pool
  - linear: {features: $classes}
)",
                                                    "space.yaml", "space"),
                                   {{3, 8, 8}, 10});
}

/// Objectives over the metrics {accuracy, latency}; `constraints` is YAML, may be empty.
inline objective::ObjectiveSet objective_set(const std::string& objectives,
                                             const std::string& constraints = {}) {
  const ConfigNode objective_list = config_from_yaml(objectives, "objectives.yaml", "objectives");
  const ConfigNode constraint_list = config_from_yaml(constraints, "constraints.yaml", "constraints");
  return objective::ObjectiveSet::parse(objective_list, &constraint_list,
                                        {{.name = "accuracy"}, {.name = "latency"}});
}

/// The objectives and constraints of the reference run: 151 of the 192 architectures are valid.
inline objective::ObjectiveSet archai_objectives() {
  return objective_set("[{maximize: accuracy}, {minimize: flops}, {minimize: latency}]",
                       "[{parameters: [0, 1.0e6]}, {flops: [0, 1.0e9]}]");
}

/// An accuracy that saturates with parameters and depth, by exact arithmetic alone, and a latency.
inline trial::Outcome closed_formula(const trial::Trial& trial) {
  const space::Network& network = trial.architecture().network();
  const auto parameters = static_cast<double>(network.cost.parameters);
  const auto layers = static_cast<double>(network.layers.size());
  const double accuracy = parameters / (parameters + 5000) * layers / (layers + 3);
  return trial::Measurements{{accuracy, static_cast<double>(network.cost.flops) / 1e6 + layers}};
}

/// Whether failing_for_a_third lets a trial fail.
inline bool fails(const trial::Trial& trial) {
  return static_cast<std::uint64_t>(trial.architecture().id) % 3 == 0;
}

inline trial::Outcome failing_for_a_third(const trial::Trial& trial) {
  if (fails(trial)) return trial::Failure{trial::FailureKind::kDiverged, "loss is nan"};
  return closed_formula(trial);
}

using Evaluate = std::function<trial::Outcome(const trial::Trial&)>;

/// How an engine goes about it: how much it asks for, and how many results it tells after that.
struct Pace {
  std::function<std::size_t()> room = [] { return std::size_t{1'000'000}; };
  std::function<std::size_t()> tells = [] { return std::size_t{1'000'000}; };
};

/// Runs a search to its end, with room for at least one at a time: asks, tells the results in the order of
/// trials, and so on. Never tells nothing where nothing more is asked.
inline std::vector<trial::CommittedTrial> run_search(search::Searcher& searcher,
                                                     const Evaluate& evaluate = closed_formula,
                                                     const Pace& pace = {}) {
  std::vector<trial::CommittedTrial> committed;
  std::size_t told = 0;
  std::size_t room = pace.room();  // left until the next results are told, however often a busy one answers
  while (true) {
    const auto [proposals, state] = searcher.ask(room);
    for (const trial::Proposal& proposal : proposals) {
      trial::Trial trial;
      trial.number = committed.size();
      trial.proposal = proposal;
      committed.push_back({trial, evaluate(trial), {}});
    }
    room -= proposals.size();
    if (state == search::Answer::State::kBusy) std::this_thread::yield();
    if (state != search::Answer::State::kAnswered && room > 0) continue;
    room = pace.room();
    if (proposals.empty() && told == committed.size()) break;
    const std::size_t tells = std::max(pace.tells(), std::size_t{proposals.empty() ? 1U : 0U});
    for (std::size_t i = 0; i < tells && told < committed.size(); ++i) searcher.tell(committed[told++]);
  }
  EXPECT_TRUE(searcher.finished());
  return committed;
}

constexpr std::size_t kToTheEnd = 1'000'000;  // number of trials

/// A search with a window, as the engine goes about it: one ask after each result.
class WindowedRun {
 public:
  /// @param most_asked  proposals that are asked for at once, at most
  WindowedRun(std::unique_ptr<search::Searcher> searcher, std::size_t window,
              Evaluate evaluate = closed_formula, std::size_t most_asked = kToTheEnd)
      : searcher_(std::move(searcher)),
        window_(window),
        evaluate_(std::move(evaluate)),
        most_asked_(most_asked) {}

  /// Continues until there are so many trials, or to the end.
  /// @param recorded  trials that the searcher is to accept as far as there are some
  const std::vector<trial::CommittedTrial>& run(std::size_t trials = kToTheEnd,
                                                const std::vector<trial::CommittedTrial>& recorded = {}) {
    ask(recorded);
    while (told_ < committed_.size() && told_ < trials) {
      searcher_->tell(committed_[told_++]);
      ask(recorded);
    }
    return committed_;
  }
  std::size_t thoughts() const { return thoughts_; }
  std::size_t accepted() const { return accepted_; }
  const search::Searcher& searcher() const { return *searcher_; }

 private:
  void ask(const std::vector<trial::CommittedTrial>& recorded) {
    while (committed_.size() < told_ + window_) {
      if (committed_.size() < recorded.size() &&
          searcher_->accept(recorded[committed_.size()].trial.proposal)) {
        add(recorded[committed_.size()].trial.proposal);
        ++accepted_;
        continue;
      }
      const std::size_t room = told_ + window_ - committed_.size();
      const search::Answer answer = searcher_->ask(std::min(room, most_asked_));
      for (const trial::Proposal& proposal : answer.proposals) add(proposal);
      if (answer.state == search::Answer::State::kAnswered) {
        if (answer.proposals.size() < most_asked_) break;
        continue;
      }
      ++thoughts_;
      std::this_thread::yield();
    }
  }
  void add(const trial::Proposal& proposal) {
    trial::CommittedTrial& committed = committed_.emplace_back();
    committed.trial.number = committed_.size() - 1;
    committed.trial.proposal = proposal;
    committed.outcome = evaluate_(committed.trial);
  }

  std::unique_ptr<search::Searcher> searcher_;
  std::size_t window_;
  Evaluate evaluate_;
  std::vector<trial::CommittedTrial> committed_;
  const std::size_t most_asked_;
  std::size_t told_ = 0;
  std::size_t thoughts_ = 0;
  std::size_t accepted_ = 0;
};

inline std::vector<space::ArchId> ids_of(const std::vector<trial::CommittedTrial>& committed) {
  std::vector<space::ArchId> ids;
  for (const trial::CommittedTrial& trial : committed) ids.push_back(trial.trial.architecture().id);
  return ids;
}

}  // namespace skyline::testing
