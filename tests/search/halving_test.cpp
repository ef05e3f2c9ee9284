#include "skyline/core/error.hpp"
#include "skyline/search/pareto.hpp"

#include "search/search_run.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::archai_space;
using testing::closed_formula;
using testing::config_from_yaml;
using testing::ids_of;
using testing::objective_set;
using testing::Pace;
using testing::run_search;
using testing::uneven_space;
using testing::user_error_of;
using testing::WindowedRun;
using trial::CommittedTrial;

constexpr double kFull = 9;  // epochs

objective::ObjectiveSet two_objectives() {
  return objective_set("[{maximize: accuracy}, {minimize: latency}]");
}

std::unique_ptr<Searcher> searcher_of(const std::string& section,
                                      const space::SearchSpace& space = archai_space(),
                                      const objective::ObjectiveSet& objectives = two_objectives()) {
  return make_searcher(config_from_yaml(section, "run.yaml", "search"), space, objectives, 1, {kFull});
}

Pace window_of(std::size_t trials) {
  return {[trials] { return trials; }, [] { return std::size_t{1}; }};
}

std::map<double, std::vector<CommittedTrial>> by_budget(const std::vector<CommittedTrial>& committed) {
  std::map<double, std::vector<CommittedTrial>> rungs;
  for (const CommittedTrial& trial : committed) rungs[trial.trial.budget().epochs].push_back(trial);
  return rungs;
}

std::set<trial::TrialNumber> continued(const std::vector<CommittedTrial>& committed) {
  std::set<trial::TrialNumber> numbers;
  for (const CommittedTrial& trial : committed) {
    if (trial.trial.continues() != nullptr) numbers.insert(trial.trial.continues()->from);
  }
  return numbers;
}

TEST(SuccessiveHalving, ContinuesTheBestThirdOfEachRung) {
  const auto searcher = searcher_of("{algorithm: successive_halving, initial: 27}");
  EXPECT_EQ(searcher->expected_trials(), 27U + 9 + 3);
  EXPECT_EQ(searcher->generation(), 27U);
  const std::vector<CommittedTrial> committed = run_search(*searcher);
  const auto rungs = by_budget(committed);
  ASSERT_EQ(rungs.size(), 3U);
  EXPECT_EQ(rungs.at(1).size(), 27U);
  EXPECT_EQ(rungs.at(3).size(), 9U);
  EXPECT_EQ(rungs.at(9).size(), 3U);
  EXPECT_EQ(searcher->finish_reason(), "1 bracket done");
  for (const CommittedTrial& trial : committed) {
    const auto* earlier = trial.trial.continues();
    EXPECT_EQ(earlier == nullptr, trial.trial.budget().epochs == 1);
    if (earlier == nullptr) {
      EXPECT_EQ(trial.trial.horizon().epochs, kFull);
      continue;
    }
    const trial::Trial& before = committed[earlier->from].trial;
    EXPECT_EQ(trial.trial.architecture().id, before.architecture().id);
    EXPECT_EQ(trial.trial.budget().epochs, 3 * before.budget().epochs);
  }
}

TEST(SuccessiveHalving, LeavesNobodyBehindWhoDominatesOneThatGoesOn) {
  const objective::ObjectiveSet objectives = two_objectives();
  const auto searcher = searcher_of("{algorithm: successive_halving, initial: 60, brackets: 2}");
  const std::vector<CommittedTrial> committed = run_search(*searcher);
  EXPECT_EQ(committed.size(), 2U * (60 + 20 + 6));
  const std::set<trial::TrialNumber> promoted = continued(committed);
  for (const CommittedTrial& loser : committed) {
    for (const CommittedTrial& winner : committed) {
      const bool same_rung = loser.trial.budget() == winner.trial.budget() &&
                             loser.trial.proposal.iteration == winner.trial.proposal.iteration;
      if (!same_rung || promoted.contains(loser.trial.number) || !promoted.contains(winner.trial.number))
        continue;
      EXPECT_FALSE(dominates(*objectives.minimized(loser), *objectives.minimized(winner)));
    }
  }
}

TEST(SuccessiveHalving, TakesTrialsThatAreFarApartFromAFrontThatIsTooLarge) {
  // Ten networks on a front, by their numbers; a third of them goes on.
  const auto evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    const auto number = static_cast<double>(trial.number);
    return trial::Measurements{{number / 10, number}};
  };
  const auto searcher = searcher_of("{algorithm: successive_halving, initial: 10, budgets: [3, 9]}");
  const std::vector<CommittedTrial> committed = run_search(*searcher, evaluate);
  EXPECT_THAT(continued(committed), ::testing::ElementsAre(0, 4, 9));
}

TEST(SuccessiveHalving, BeginsAnewWhereARungFailsAsAWhole) {
  const auto searcher = searcher_of("{algorithm: successive_halving, initial: 5, brackets: 3}");
  const auto evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    if (trial.number >= 5) return closed_formula(trial);
    return trial::Failure{trial::FailureKind::kDiverged, "planted"};
  };
  EXPECT_EQ(run_search(*searcher, evaluate).size(), 5U + 2 * (5 + 1 + 1));
}

TEST(SuccessiveHalving, EndsWithASmallSpace) {
  const auto searcher = searcher_of("{algorithm: successive_halving, initial: 100}", uneven_space());
  const std::vector<CommittedTrial> committed = run_search(*searcher);
  EXPECT_EQ(by_budget(committed).at(1).size(), 5U);
  EXPECT_EQ(committed.size(), 5U + 1 + 1);
  EXPECT_EQ(searcher->finish_reason(), "all 5 valid architectures were evaluated");
  EXPECT_FALSE(searcher->gave_up());
}

TEST(MoAsha, ContinuesTrialsThatAreAmongTheBestThirdOfTheirRungThen) {
  const objective::ObjectiveSet objectives = two_objectives();
  const auto searcher = searcher_of("{algorithm: mo_asha, trials: 90}");
  std::set<trial::TrialNumber> continued;
  std::set<trial::TrialNumber> given_up;
  std::vector<CommittedTrial> committed;
  std::size_t told = 0;
  const auto is_among_best = [&](const CommittedTrial& trial) {
    std::size_t results = 0;
    std::size_t dominators = 0;
    for (std::size_t i = 0; i < told; ++i) {
      if (committed[i].trial.budget() != trial.trial.budget()) continue;
      ++results;
      if (dominates(*objectives.minimized(committed[i]), *objectives.minimized(trial))) ++dominators;
    }
    return dominators < results / 3;
  };
  while (told < committed.size() || told == 0) {
    for (trial::Proposal& proposal : searcher->ask(8 - (committed.size() - told)).proposals) {
      trial::Trial trial{committed.size(), std::move(proposal)};
      if (const auto* earlier = trial.continues()) {
        EXPECT_LT(earlier->from, told);
        EXPECT_TRUE(is_among_best(committed[earlier->from]));
        EXPECT_TRUE(continued.insert(earlier->from).second) << "each at most once";
        EXPECT_FALSE(given_up.contains(earlier->from));
        EXPECT_EQ(trial.budget().epochs, 3 * committed[earlier->from].trial.budget().epochs);
      }
      committed.push_back({trial, closed_formula(trial), {}});
    }
    for (std::size_t number = 0; number < told; ++number) {
      if (!searcher->may_continue(number)) given_up.insert(number);
      EXPECT_NE(searcher->may_continue(number), given_up.contains(number)) << "once and for all";
    }
    searcher->tell(committed[told++]);
  }
  EXPECT_TRUE(searcher->finished());
  EXPECT_EQ(committed.size(), 90U);
  EXPECT_EQ(searcher->finish_reason(), "90 trials done");
  EXPECT_GT(by_budget(committed)[kFull].size(), 4U);
  EXPECT_GT(given_up.size(), continued.size() + 10) << "trials with many dominators are let go early";
}

TEST(MoAsha, ExpectsAllOfItsTrialsInASpaceOfAnySize) {
  std::string parameters = "parameters:\n";
  for (int i = 0; i < 31; ++i) parameters += "  p" + std::to_string(i) + ": {choice: [1, 2, 3, 4]}\n";
  const auto space = space::SearchSpace::parse(config_from_yaml(parameters, "space.yaml", "space"), {});
  const auto objectives = objective_set("[{maximize: accuracy}]");  // 2^62 genotypes, times 4 budgets: 2^64
  const auto searcher =
      searcher_of("{algorithm: mo_asha, trials: 50, budgets: [1, 2, 3, 9]}", space, objectives);
  EXPECT_EQ(searcher->expected_trials(), 50U);
  EXPECT_EQ(searcher_of("{algorithm: mo_asha, trials: 50}", uneven_space())->expected_trials(), 36U);
}

TEST(MoAsha, WaitsForNoTrial) {
  const auto searcher = searcher_of("{algorithm: mo_asha, trials: 40}");
  EXPECT_EQ(searcher->ask(8).proposals.size(), 8U);
  EXPECT_EQ(searcher->ask(3).proposals.size(), 3U);
  EXPECT_EQ(searcher->generation(), std::nullopt);
}

/// Returns how many trials of a search were whole. Every third that begins fails.
std::size_t whole_trials(std::size_t trials, std::size_t window) {
  const auto searcher = searcher_of("{algorithm: mo_asha, trials: " + std::to_string(trials) + "}");
  const auto evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    if (trial.number % 3 != 1 || trial.continues() != nullptr) return closed_formula(trial);
    return trial::Failure{trial::FailureKind::kDiverged, "planted"};
  };
  const std::vector<CommittedTrial> committed = run_search(*searcher, evaluate, window_of(window));
  EXPECT_EQ(committed.size(), trials);
  return by_budget(committed)[kFull].size();
}

TEST(MoAsha, CarriesATrialToTheFullBudgetHoweverShortTheSearchIs) {
  for (const std::size_t window : {1U, 8U, 64U}) {
    for (std::size_t trials = 3; trials < 30; ++trials) {
      EXPECT_GE(whole_trials(trials, window), 1U) << trials << " trials, window " << window;
    }
  }
  EXPECT_EQ(whole_trials(30, 64), 1U);
}

/// Runs a search with a window of 4, and expects that it continues no trial of which it said that it may not
/// be continued.
std::vector<CommittedTrial> run_with_states(const std::string& section, const testing::Evaluate& evaluate) {
  const auto searcher = searcher_of(section);
  std::set<trial::TrialNumber> given_up;
  std::vector<CommittedTrial> committed;
  for (std::size_t told = 0; !searcher->finished() || told < committed.size();) {
    for (trial::Proposal& proposal : searcher->ask(4 - (committed.size() - told)).proposals) {
      trial::Trial trial{committed.size(), std::move(proposal)};
      const auto* earlier = trial.continues();
      EXPECT_FALSE(earlier != nullptr && given_up.contains(earlier->from)) << section;
      committed.push_back({trial, evaluate(trial), {}});
    }
    searcher->tell(committed[told++]);
    for (std::size_t number = 0; number < told; ++number) {
      if (!searcher->may_continue(number)) given_up.insert(number);
    }
  }
  return committed;
}

TEST(MoAsha, LetsGoOfNoTrialThatItContinuesAtLast) {
  const auto evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    if (trial.budget().epochs < 3 || trial.number % 2 == 0) return closed_formula(trial);
    return trial::Failure{trial::FailureKind::kDiverged, "planted"};
  };
  for (std::size_t trials = 3; trials < 16; ++trials) {
    const std::string section = "{algorithm: mo_asha, trials: " + std::to_string(trials) + "}";
    EXPECT_EQ(run_with_states(section, evaluate).size(), trials);
  }
}

TEST(MoAsha, LetsGoOfNoTrialThatItContinuesWithBrackets) {
  for (const std::string brackets : {"2", "3"}) {
    for (const std::size_t trials : {4U, 13U, 30U, 80U}) {
      const std::vector<CommittedTrial> committed = run_with_states(
          "{algorithm: mo_asha, trials: " + std::to_string(trials) + ", brackets: " + brackets + "}",
          closed_formula);
      EXPECT_EQ(committed.size(), trials);
      EXPECT_GE(by_budget(committed)[kFull].size(), 1U);
    }
  }
}

TEST(MoAsha, BeginsNothingThatCannotBecomeWhole) {
  for (const std::size_t trials : {20U, 33U, 40U, 90U}) {
    const auto searcher = searcher_of("{algorithm: mo_asha, trials: " + std::to_string(trials) + "}");
    const std::vector<CommittedTrial> committed = run_search(*searcher, closed_formula, window_of(1));
    ASSERT_EQ(committed.size(), trials);
    EXPECT_GT(committed[trials - 2].trial.budget().epochs, kFull / 9);
    EXPECT_EQ(committed[trials - 1].trial.budget().epochs, kFull);
  }
}

/// Returns the numbers of trials that began with each budget.
std::map<double, std::size_t> begun_by_budget(const std::vector<CommittedTrial>& committed) {
  std::map<double, std::size_t> begun;
  for (const CommittedTrial& trial : committed) {
    if (trial.trial.continues() == nullptr) ++begun[trial.trial.budget().epochs];
  }
  return begun;
}

TEST(MoAsha, BeginsInEachBracketAccordingToItsShare) {
  // 9 / 3, 3 / 2 and 1: of 11 that begin 6, 3 and 2.
  const std::string section = "{algorithm: mo_asha, trials: 150, brackets: 3}";
  const std::vector<CommittedTrial> committed = WindowedRun(searcher_of(section), 8).run();
  EXPECT_EQ(committed.size(), 150U);
  std::map<double, std::size_t> begun = begun_by_budget(committed);
  const double of_all = static_cast<double>(begun[1] + begun[3] + begun[9]) / 11;
  EXPECT_NEAR(static_cast<double>(begun[1]), 6 * of_all, 1);
  EXPECT_NEAR(static_cast<double>(begun[3]), 3 * of_all, 1);
  EXPECT_NEAR(static_cast<double>(begun[9]), 2 * of_all, 1);
  EXPECT_GT(continued(committed).size(), 30U);
  WindowedRun resumed(searcher_of(section), 8);
  const std::vector<CommittedTrial> recorded(committed.begin(), committed.begin() + 60);
  EXPECT_EQ(ids_of(resumed.run(testing::kToTheEnd, recorded)), ids_of(committed));
  EXPECT_EQ(resumed.accepted(), 60U);
  begun = begun_by_budget(WindowedRun(searcher_of("{algorithm: mo_asha, trials: 60, brackets: 2}"), 8).run());
  EXPECT_GT(begun[3], 5U);
  EXPECT_EQ(begun[9], 0U);
}

TEST(MoAsha, PromotesWithinARungWhateverTheBracket) {
  // Short trainings mislead: with an epoch the best network has the worst value. Only trials that begin with
  // more get it to the last rung.
  const auto evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    const double quality = std::get<trial::Measurements>(closed_formula(trial)).values.front();
    return trial::Measurements{{trial.budget().epochs < 3 ? -quality : quality}};
  };
  const auto best_whole = [&](const std::string& brackets) {
    auto searcher = searcher_of("{algorithm: mo_asha, trials: 120, brackets: " + brackets + "}",
                                archai_space(), objective_set("[{maximize: accuracy}]"));
    auto rungs = by_budget(WindowedRun(std::move(searcher), 4, evaluate).run());
    double best = -1;
    for (const CommittedTrial& trial : rungs[kFull])
      best = std::max(best, std::get<trial::Measurements>(trial.outcome).values.front());
    return best;
  };
  EXPECT_GT(best_whole("2"), best_whole("1"));
}

TEST(MoAsha, HasAtMostABracketForEachRung) {
  for (const std::string many : {"brackets: 4", "brackets: 3, budgets: [3, 9]"}) {
    EXPECT_THAT(user_error_of([&] { searcher_of("{algorithm: mo_asha, " + many + "}"); }),
                ::testing::ContainsRegex(
                    "search.brackets: expected at most [23], one for each of the `budgets`, got [34]"));
  }
}

TEST(MoAsha, NeedsATrialForEachRung) {
  for (const std::string few : {"trials: 2", "trials: 3, budgets: [1, 2, 3, 9]"}) {
    EXPECT_THAT(user_error_of([&] { searcher_of("{algorithm: mo_asha, " + few + "}"); }),
                ::testing::HasSubstr("search.trials: expected at least "));
  }
}

TEST(MoAsha, ContinuesNoFailedTrial) {
  const auto evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    if (trial.number % 2 == 0) return closed_formula(trial);
    return trial::Failure{trial::FailureKind::kDiverged, "planted"};
  };
  const auto searcher = searcher_of("{algorithm: mo_asha, trials: 60}");
  for (const trial::TrialNumber number : continued(run_search(*searcher, evaluate, window_of(4)))) {
    EXPECT_EQ(number % 2, 0U);
  }
}

TEST(MoAsha, ContinuesWhatItCanWhereTheSpaceHasNoMore) {
  const auto searcher = searcher_of("{algorithm: mo_asha, trials: 60, reduction: 2}", uneven_space());
  const auto rungs = by_budget(run_search(*searcher, closed_formula, window_of(2)));
  EXPECT_EQ(rungs.at(kFull / 4).size(), 5U);
  EXPECT_GE(rungs.at(kFull / 2).size(), 2U);
  EXPECT_GE(rungs.at(kFull).size(), 1U);
  EXPECT_EQ(searcher->finish_reason(), "all 5 valid architectures were evaluated");
}

TEST(MoAsha, ProposesTheSameForTheSameResults) {
  const auto first = run_search(*searcher_of("{algorithm: mo_asha}"), closed_formula, window_of(8));
  EXPECT_EQ(first.size(), 100U);
  EXPECT_EQ(ids_of(first),
            ids_of(run_search(*searcher_of("{algorithm: mo_asha}"), closed_formula, window_of(8))));
}

TEST(Budgets, MustGrowUpToTheFullOne) {
  for (const std::string budgets : {"[9]", "[3, 3, 9]", "[9, 3]", "[1, 3]", "[1, 30]"}) {
    const std::string error =
        user_error_of([&] { searcher_of("{algorithm: mo_asha, budgets: " + budgets + "}"); });
    EXPECT_THAT(
        error, ::testing::HasSubstr(
                   "search.budgets: expected 2 to 20 epochs that grow up to those of a whole trial, 9, got "))
        << budgets;
  }
  EXPECT_EQ(searcher_of("{algorithm: mo_asha, budgets: [0.5, 9]}")->ask(1).proposals.front().budget.epochs,
            0.5);
}

}  // namespace
}  // namespace skyline::search
