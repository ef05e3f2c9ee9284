#include "search/search_run.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::config_from_yaml;
using testing::Evaluate;
using testing::kernels_space;
using testing::objective_set;
using testing::uneven_space;
using testing::user_error_of;
using testing::WindowedRun;
using trial::CommittedTrial;

constexpr double kWhole = 16;  // epochs

std::unique_ptr<Searcher> budgeted(const std::string& options, const space::SearchSpace& space,
                                   const objective::ObjectiveSet& objectives, std::uint64_t seed = 1) {
  return make_searcher(config_from_yaml("{algorithm: skyline, " + options + "}", "run.yaml", "search"), space,
                       objectives, seed, {kWhole});
}

/// Steps of a network from the one with kernels 5, 3 and 1, and widths 8, 12 and 16.
double steps_away(const trial::Trial& trial) {
  constexpr std::array<double, 6> kBest{2, 1, 0, 1, 2, 3};
  const std::vector<std::uint32_t>& choices = trial.architecture().genotype.choices;
  double steps = 0;
  for (std::size_t i = 0; i < kBest.size(); ++i) steps += std::abs(choices[i] - kBest[i]);
  return steps;
}

/// An accuracy that grows with the epochs; short trainings see some steps less.
trial::Outcome informative(const trial::Trial& trial) {
  const double epochs = trial.budget().epochs;
  const double steps = steps_away(trial) + 0.2 * std::sin(static_cast<double>(trial.number)) / epochs;
  return trial::Measurements{{epochs / (epochs + 1) / (1 + steps), steps}};
}

/// Short trainings say nothing about whole ones.
trial::Outcome misleading(const trial::Trial& trial) {
  const double steps = steps_away(trial);
  const auto nothing = static_cast<double>(static_cast<std::uint64_t>(trial.architecture().id) % 1009) / 1009;
  return trial::Measurements{{trial.budget().epochs < kWhole ? nothing : 1 / (1 + steps), steps}};
}

/// Returns the epochs that were paid until a whole training had no step left, or infinity.
double epochs_to_the_best(const std::vector<CommittedTrial>& committed) {
  double paid = 0;
  for (const CommittedTrial& one : committed) {
    const auto* earlier = one.trial.continues();
    paid += one.trial.budget().epochs - (earlier ? committed[earlier->from].trial.budget().epochs : 0);
    if (one.trial.budget().epochs == kWhole && steps_away(one.trial) == 0) return paid;
  }
  return std::numeric_limits<double>::infinity();
}

std::vector<CommittedTrial> committed_of(const std::string& options, std::size_t window,
                                         const Evaluate& evaluate, std::uint64_t seed = 1,
                                         const std::string& objectives = "[{maximize: accuracy}]") {
  WindowedRun run(budgeted(options, kernels_space(), objective_set(objectives), seed), window, evaluate);
  return run.run(std::numeric_limits<std::size_t>::max());
}

/// In a batch, choices wait for room while results come.
class SkylineBudgetsInBatches : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, SkylineBudgetsInBatches, ::testing::Values(1, 3, 8));

TEST_P(SkylineBudgetsInBatches, ContinueKnownTrialsRungByRungAndEachOnce) {
  const auto objectives = objective_set("[{maximize: accuracy}, {minimize: macs}]");
  const auto searcher = budgeted("trials: 60, budgets: [1, 4, 16], batch: " + std::to_string(GetParam()),
                                 kernels_space(), objectives);
  EXPECT_EQ(searcher->expected_trials(), 60U);
  std::vector<CommittedTrial> committed;
  std::set<trial::TrialNumber> continued;
  std::set<trial::TrialNumber> given_up;
  std::size_t told = 0;
  std::map<double, std::size_t> rungs;
  while (told < committed.size() || told == 0) {
    const Answer answer = searcher->ask(8 - (committed.size() - told));
    for (const trial::Proposal& proposal : answer.proposals) {
      trial::Trial trial{committed.size(), proposal};
      ++rungs[trial.budget().epochs];
      if (const auto* earlier = trial.continues()) {
        ASSERT_LT(earlier->from, told);
        const trial::Trial& before = committed[earlier->from].trial;
        EXPECT_EQ(before.architecture().id, trial.architecture().id);
        EXPECT_EQ(trial.budget().epochs, 4 * before.budget().epochs);
        EXPECT_TRUE(continued.insert(earlier->from).second) << "each at most once";
        EXPECT_FALSE(given_up.contains(earlier->from));
        EXPECT_EQ(proposal.origin.text(), "promotion");
      } else {
        EXPECT_EQ(trial.budget().epochs, 1);
        EXPECT_EQ(trial.horizon().epochs, kWhole);
      }
      const trial::Outcome outcome = informative(trial);
      committed.push_back({trial, outcome, {}});
    }
    if (answer.state != Answer::State::kAnswered) {
      std::this_thread::yield();
      continue;
    }
    for (std::size_t number = 0; number < told; ++number) {
      if (committed[number].trial.budget().epochs == kWhole) continue;
      if (!searcher->may_continue(number)) given_up.insert(number);
      EXPECT_NE(searcher->may_continue(number), given_up.contains(number)) << "once and for all";
    }
    searcher->tell(committed[told++]);
  }
  EXPECT_EQ(committed.size(), 60U);
  EXPECT_GT(rungs[1], rungs[kWhole]);
  EXPECT_GE(rungs[kWhole], 2U);
}

TEST(SkylineBudgets, FindTheBestForLessThanHalfOfTheEpochsWhereShortTrainingsTell) {
  double with = 0;
  double without = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    with += epochs_to_the_best(committed_of("trials: 60, budgets: [1, 4, 16]", 1, informative, seed));
    without += epochs_to_the_best(committed_of("trials: 60", 1, informative, seed));
  }
  EXPECT_LT(with, without / 2) << without;
}

TEST(SkylineBudgets, ComeNearTheBestWhereShortTrainingsMislead) {
  for (const std::uint64_t seed : {1U, 2U}) {
    double fewest = std::numeric_limits<double>::infinity();
    for (const CommittedTrial& one : committed_of("trials: 110, budgets: [8, 16]", 1, misleading, seed)) {
      if (one.trial.budget().epochs == kWhole) fewest = std::min(fewest, steps_away(one.trial));
    }
    EXPECT_LE(fewest, 1) << "five of 4,096 networks are as near";
  }
}

/// Returns what identifies the trials.
std::vector<std::pair<space::ArchId, double>> steps_of(const std::vector<CommittedTrial>& committed) {
  std::vector<std::pair<space::ArchId, double>> steps;
  for (const CommittedTrial& one : committed)
    steps.emplace_back(one.trial.architecture().id, one.trial.budget().epochs);
  return steps;
}

TEST(SkylineBudgets, LeadToTheSameTrialsHoweverOftenOneAsks) {
  for (const int batch : {1, 3}) {
    std::vector<std::vector<std::pair<space::ArchId, double>>> runs;
    for (const int pause_us : {0, 300}) {
      const Evaluate late = [=](const trial::Trial& trial) {
        std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
        return informative(trial);
      };
      runs.push_back(steps_of(committed_of("trials: 40, budgets: [1, 4, 16], batch: " + std::to_string(batch),
                                           4, late, 7, "[{maximize: accuracy}, {minimize: flops}]")));
    }
    EXPECT_EQ(runs[0].size(), 40U);
    EXPECT_EQ(runs[0], runs[1]) << "batch " << batch;
  }
}

TEST(SkylineBudgets, LeadToAWholeTrainingHoweverShortTheSearchIs) {
  const Evaluate evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    if (trial.number % 3 != 1 || trial.continues() != nullptr) return informative(trial);
    return trial::Failure{trial::FailureKind::kDiverged, "planted"};
  };
  for (const int batch : {1, 4}) {
    for (const std::size_t window : {1U, 8U, 32U}) {
      for (const int trials : {3, 5, 8, 13}) {
        const std::string options =
            "trials: " + std::to_string(trials) + ", budgets: [1, 4, 16], batch: " + std::to_string(batch);
        const std::vector<CommittedTrial> committed = committed_of(options, window, evaluate);
        EXPECT_EQ(committed.size(), trials);
        const auto is_whole = [](const CommittedTrial& one) { return one.trial.budget().epochs == kWhole; };
        EXPECT_GE(std::ranges::count_if(committed, is_whole), 1) << options << ", window " << window;
      }
    }
  }
}

TEST(SkylineBudgets, BeginNothingThatCannotBecomeWhole) {
  for (const std::size_t window : {1U, 4U}) {
    const std::vector<CommittedTrial> committed =
        committed_of("trials: 30, budgets: [1, 4, 16]", window, informative);
    EXPECT_GT(committed[28].trial.budget().epochs, 1);
    EXPECT_EQ(committed[29].trial.budget().epochs, kWhole);
  }
}

TEST(SkylineBudgets, ContinueNoFailedTrial) {
  const Evaluate evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    if (trial.architecture().genotype.choices[3] < 2) return informative(trial);
    return trial::Failure{trial::FailureKind::kDiverged, "planted"};
  };
  const std::vector<CommittedTrial> committed = committed_of("trials: 40, budgets: [1, 4, 16]", 2, evaluate);
  std::size_t continued = 0;
  for (const CommittedTrial& one : committed) {
    if (one.trial.continues() == nullptr) continue;
    EXPECT_LT(one.trial.architecture().genotype.choices[3], 2U);
    ++continued;
  }
  EXPECT_GE(continued, 4U);
  const Evaluate fails = [](const trial::Trial&) {
    return trial::Failure{trial::FailureKind::kException, "no"};
  };
  EXPECT_EQ(committed_of("trials: 12, budgets: [1, 16]", 3, fails).size(), 12U);
}

TEST(SkylineBudgets, LearnWhereMeasuredConstraintsAreMetWithTheWholeBudget) {
  // The latency grows with the epochs: few steps are within the bound at first, and fewer at last.
  const Evaluate evaluate = [](const trial::Trial& trial) {
    const double steps = steps_away(trial);
    return trial::Measurements{{steps, steps + (trial.budget().epochs == kWhole ? 2 : 0)}};
  };
  const auto objectives = objective_set("[{maximize: accuracy}]", "[{latency: [0, 6]}]");
  WindowedRun run(budgeted("trials: 60, budgets: [1, 16]", kernels_space(), objectives), 1, evaluate);
  std::size_t whole = 0;
  std::size_t met = 0;
  for (const CommittedTrial& one : run.run(60)) {
    if (one.trial.budget().epochs < kWhole) continue;
    ++whole;
    if (objectives.values(one)) ++met;
  }
  EXPECT_GE(whole, 3U);
  EXPECT_GE(2 * met, whole);
}

TEST(SkylineBudgets, ContinueWhatTheyCanWhereTheSpaceHasNoMore) {
  for (const int batch : {1, 2, 4, 8}) {
    SCOPED_TRACE(batch);
    const auto started = [&] {
      const std::string options = "trials: 100, budgets: [1, 4, 16], batch: " + std::to_string(batch);
      return WindowedRun(budgeted(options, uneven_space(), objective_set("[{maximize: accuracy}]")), 8);
    };
    WindowedRun run = started();
    EXPECT_EQ(run.searcher().expected_trials(), 36U);
    const std::vector<CommittedTrial> whole = run.run(100);
    EXPECT_EQ(whole.size(), 15U) << "five architectures on three rungs";
    EXPECT_EQ(run.searcher().finish_reason(), "all 5 valid architectures were evaluated");
    EXPECT_FALSE(run.searcher().gave_up());
    for (const std::ptrdiff_t recorded : {4, 7, 11, 14}) {
      WindowedRun resumed = started();
      const std::vector<CommittedTrial> first(whole.begin(), whole.begin() + recorded);
      EXPECT_EQ(steps_of(resumed.run(100, first)), steps_of(whole)) << recorded << " recorded";
    }
  }
}

/// A model needs three results: what goes on is then the best of those that did well.
TEST(SkylineBudgets, ContinueWhatTheyCanWhereNearlyAllFail) {
  const Evaluate plain_alone = [](const trial::Trial& trial) -> trial::Outcome {
    if (trial.architecture().genotype.choices.front() != 0)
      return trial::Failure{trial::FailureKind::kProgram, "exit code 1"};
    return trial::Measurements{{0.5, 1}};
  };
  for (const int batch : {1, 4}) {
    const std::string options = "trials: 100, budgets: [1, 4, 16], batch: " + std::to_string(batch);
    const auto started = [&] {
      return WindowedRun(budgeted(options, uneven_space(), objective_set("[{maximize: accuracy}]")), 3,
                         plain_alone);
    };
    WindowedRun run = started();
    const std::vector<CommittedTrial> committed = run.run(100);
    ASSERT_EQ(committed.size(), 7U) << "five architectures, one of which goes on twice";
    EXPECT_EQ(committed.back().trial.budget().epochs, kWhole);
    EXPECT_FALSE(run.searcher().gave_up());
    for (std::ptrdiff_t recorded = 1; recorded < 7; ++recorded) {
      WindowedRun resumed = started();
      const std::vector<CommittedTrial> first(committed.begin(), committed.begin() + recorded);
      EXPECT_EQ(steps_of(resumed.run(100, first)), steps_of(committed)) << recorded << " recorded";
    }
  }
}

TEST(SkylineBudgets, MustGrowUpToTheWholeOne) {
  for (const std::string budgets : {"[16]", "[4, 4, 16]", "[16, 4]", "[1, 4]"}) {
    EXPECT_THAT(user_error_of([&] {
                  budgeted("budgets: " + budgets, kernels_space(), objective_set("[{maximize: accuracy}]"));
                }),
                ::testing::HasSubstr(
                    "run.yaml:1:31: search.budgets: expected 2 to 20 epochs that grow up to those of a whole "
                    "trial, 16, got "))
        << budgets;
  }
}

TEST(SkylineBudgets, AreTheSameAfterRecordedTrials) {
  for (const int batch : {1, 4}) {
    const std::string options = "trials: 40, budgets: [1, 4, 16], batch: " + std::to_string(batch);
    const std::vector<CommittedTrial> whole = committed_of(options, 3, informative, 5);
    for (const std::ptrdiff_t recorded : {6, 17, 30, 40}) {
      WindowedRun resumed(budgeted(options, kernels_space(), objective_set("[{maximize: accuracy}]"), 5), 3,
                          informative);
      const std::vector<CommittedTrial> first(whole.begin(), whole.begin() + recorded);
      EXPECT_EQ(steps_of(resumed.run(40, first)), steps_of(whole)) << recorded << " recorded";
      EXPECT_EQ(resumed.thoughts() == 0, recorded == 40);
    }
  }
}

}  // namespace
}  // namespace skyline::search
