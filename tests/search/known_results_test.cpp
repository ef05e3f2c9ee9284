#include "search/model/prior_targets.hpp"
#include "search/search_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::archai_objectives;
using testing::archai_space;
using testing::closed_formula;
using testing::config_from_yaml;
using testing::Evaluate;
using testing::ids_of;
using testing::objective_set;
using testing::Pace;
using testing::run_search;
using trial::CommittedTrial;

const Pace kOneByOne{[] { return std::size_t{1}; }, [] { return std::size_t{1}; }};

std::vector<CommittedTrial> searched(const std::string& section, const std::vector<CommittedTrial>& known,
                                     const objective::ObjectiveSet& objectives,
                                     const Evaluate& evaluate = closed_formula, std::uint64_t seed = 1) {
  const auto searcher = make_searcher(config_from_yaml("{algorithm: " + section + "}", "run.yaml", "search"),
                                      archai_space(), objectives, seed, {}, known);
  return run_search(*searcher, evaluate, kOneByOne);
}

/// Returns random results, the best one of a single objective last.
std::vector<CommittedTrial> random_results(std::size_t count, const Evaluate& evaluate) {
  auto results = searched("random, trials: " + std::to_string(count), {},
                          objective_set("[{maximize: accuracy}]"), evaluate, 7);
  std::ranges::sort(results, {}, [](const CommittedTrial& result) {
    return std::get<trial::Measurements>(result.outcome).values[0];
  });
  return results;
}

TEST(KnownResults, AreTheFirstTrialsTheBestOnesFirst) {
  const auto known = random_results(20, closed_formula);
  const auto objectives = objective_set("[{maximize: accuracy}]");
  for (const std::string section :
       {"evolution_pareto, initial: 4, iterations: 2", "regularized_evolution, initial: 4, trials: 8",
        "local_search, initial: 4, trials: 8", "nsga2, population: 4, trials: 8",
        "mo_bananas, initial: 4, batch: 2, trials: 8", "skyline, trials: 8"}) {
    const auto trials = searched(section, known, objectives);
    const std::size_t first = section.starts_with("skyline") ? 2 : 4;
    for (std::size_t i = 0; i < first; ++i) {
      EXPECT_EQ(trials[i].trial.architecture().id, known[19 - i].trial.architecture().id)
          << section << " " << i;
      EXPECT_EQ(trials[i].trial.proposal.origin, trial::Origin::kInitial);
    }
    EXPECT_TRUE(std::ranges::any_of(trials, [](const CommittedTrial& each) {
      return !each.trial.proposal.parents.empty();
    })) << section;
  }
}

TEST(KnownResults, LeaveEveryThirdOfTheFirstTrialsOfSkylineToOneFarFromThem) {
  const auto known = random_results(20, closed_formula);
  const auto objectives = objective_set("[{maximize: accuracy}]");
  const std::vector<space::ArchId> ids = ids_of(known);
  const auto searcher =
      make_searcher(config_from_yaml("{algorithm: skyline, trials: 8}", "run.yaml", "search"), archai_space(),
                    objectives, 1, {}, known);
  const auto trials = run_search(*searcher);  // all are asked for before a result is told
  ASSERT_EQ(trials.size(), 8U);
  std::size_t next = known.size();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const space::ArchId id = trials[i].trial.architecture().id;
    if (i % 3 == 2) {
      EXPECT_NE(id, ids[next - 1]) << i;
    } else {
      EXPECT_EQ(id, ids[--next]) << i;
    }
  }
}

TEST(KnownResults, OfArchitecturesThatBreakAConstraintAreNoTrials) {
  const auto known = random_results(60, closed_formula);
  const objective::ObjectiveSet objectives = archai_objectives();
  for (const std::string section : {"nsga2, population: 60, trials: 60", "skyline, trials: 10"}) {
    for (const CommittedTrial& trial : searched(section, known, objectives)) {
      EXPECT_TRUE(objectives.feasible(trial.trial.architecture())) << section;
    }
  }
}

TEST(KnownResults, MayBeFewerThanTheFirstTrials) {
  const auto known = random_results(2, closed_formula);
  const auto objectives = objective_set("[{maximize: accuracy}]");
  const auto with = searched("nsga2, population: 6, trials: 10", known, objectives);
  EXPECT_EQ(with.size(), 10U);
  EXPECT_EQ(with[1].trial.architecture().id, known[0].trial.architecture().id);
  EXPECT_EQ(searched("random, trials: 10", known, objectives)[0].trial.architecture().id,
            searched("random, trials: 10", {}, objectives)[0].trial.architecture().id);
}

/// Returns what a search with budgets knows: some of its short trials went on, and have other values.
std::vector<CommittedTrial> continued(std::vector<CommittedTrial> known, std::size_t which, double value) {
  CommittedTrial more = known.at(which);
  more.trial.proposal.budget.epochs = 9;
  more.outcome = trial::Measurements{{value, 1}};
  known.push_back(std::move(more));
  return known;
}

TEST(KnownResults, AreOnlyComparedWithThoseOfTheSameBudget) {
  auto known = random_results(20, closed_formula);
  for (CommittedTrial& each : known) each.trial.proposal.budget.epochs = 1;
  known = continued(continued(known, 19, 0.01), 5, 0.02);  // less than any short one
  const auto trials =
      searched("local_search, initial: 4, trials: 4", known, objective_set("[{maximize: accuracy}]"));
  const std::array<std::size_t, 4> expected{5, 19, 18, 17};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(trials[i].trial.architecture().id, known[expected[i]].trial.architecture().id) << i;
}

TEST(KnownResults, OfContinuedTrialsCentreOnTheirTargetsBefore) {
  auto known = random_results(20, closed_formula);
  for (CommittedTrial& each : known) each.trial.proposal.budget.epochs = 1;
  const auto objectives = objective_set("[{maximize: accuracy}]");
  const PriorTargets before = prior_targets(known, objectives.objectives()[0]);
  known = continued(continued(known, 19, 0.01), 17, 0.02);
  const PriorTargets after = prior_targets(known, objectives.objectives()[0]);
  ASSERT_EQ(after.places.size(), 20U);  // each architecture once
  EXPECT_EQ(std::ranges::count(after.places, 19U) + std::ranges::count(after.places, 17U), 0);
  const Eigen::VectorXd its = after.targets.tail(2);
  EXPECT_NEAR(its.mean(), (before.targets[19] + before.targets[17]) / 2, 1e-12);
  EXPECT_GT(its[1], its[0]);
  EXPECT_GT(its.minCoeff(), after.targets.head(15).maxCoeff());
}

/// How far an architecture is from the best one, which has 9 layers, kernels of 5 and a width of 32.
double steps_away(const trial::Trial& trial) {
  constexpr std::array<double, 3> kBest{8, 2, 1};
  double steps = 0;
  for (std::size_t i = 0; i < 3; ++i) steps += std::abs(trial.architecture().genotype.choices[i] - kBest[i]);
  return steps;
}

std::size_t trials_to_the_best(const std::vector<CommittedTrial>& known, std::uint64_t seed) {
  const auto evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    return trial::Measurements{{1 / (1 + steps_away(trial)), 1}};
  };
  const auto trials =
      searched("skyline, trials: 40", known, objective_set("[{maximize: accuracy}]"), evaluate, seed);
  return static_cast<std::size_t>(
      std::ranges::find_if(trials, [](const CommittedTrial& each) { return steps_away(each.trial) == 0; }) -
      trials.begin());
}

TEST(KnownResults, SaveTrialsWhereTheyAgreeAndCostFewWhereTheyDoNot) {
  // Results on another scale without the best architectures, and results that are all wrong.
  auto alike = random_results(60, [](const trial::Trial& trial) -> trial::Outcome {
    return trial::Measurements{{70 - 3 * steps_away(trial), 1}};
  });
  std::erase_if(alike, [](const CommittedTrial& result) { return steps_away(result.trial) < 2; });
  const auto opposite = random_results(60, [](const trial::Trial& trial) -> trial::Outcome {
    return trial::Measurements{{steps_away(trial), 1}};
  });
  std::size_t without = 0;
  std::size_t with = 0;
  std::size_t misled = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    without += trials_to_the_best({}, seed);
    with += trials_to_the_best(alike, seed);
    misled += trials_to_the_best(opposite, seed);
  }
  EXPECT_LT(with * 4, without * 3);
  EXPECT_LT(misled, 2 * without);
}

}  // namespace
}  // namespace skyline::search
