#include "skyline/search/pareto.hpp"

#include "search/search_run.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::archai_objectives;
using testing::archai_space;
using testing::closed_formula;
using testing::config_from_yaml;
using ::testing::ElementsAre;
using testing::Evaluate;
using testing::failing_for_a_third;
using testing::ids_of;
using testing::kToTheEnd;
using testing::objective_set;
using testing::Pace;
using testing::run_search;
using testing::uneven_space;
using testing::WindowedRun;
using trial::CommittedTrial;
using trial::Origin;

constexpr std::array kEvolutions{"regularized_evolution", "local_search", "nsga2", "mo_bananas"};

std::unique_ptr<Searcher> evolution_of(const std::string& section, std::uint64_t seed = 1,
                                       const objective::ObjectiveSet& objectives = archai_objectives(),
                                       const space::SearchSpace& space = archai_space()) {
  return make_searcher(config_from_yaml("{algorithm: " + section + "}", "run.yaml", "search"), space,
                       objectives, seed);
}

std::vector<CommittedTrial> run_windowed(std::unique_ptr<Searcher> searcher, std::size_t window,
                                         const Evaluate& evaluate = closed_formula,
                                         std::size_t most_asked = kToTheEnd) {
  return WindowedRun(std::move(searcher), window, evaluate, most_asked).run();
}

std::size_t changes_between(const CommittedTrial& child, const CommittedTrial& parent) {
  const auto& left = child.trial.architecture().genotype.choices;
  const auto& right = parent.trial.architecture().genotype.choices;
  std::size_t count = 0;
  for (std::size_t i = 0; i < left.size(); ++i) count += left[i] != right[i] ? 1U : 0U;
  return count;
}

/// Returns the numbers on the front of trials [from, to).
std::set<std::size_t> numbers_on_front(const std::vector<CommittedTrial>& committed, std::size_t from,
                                       std::size_t to,
                                       const objective::ObjectiveSet& objectives = archai_objectives()) {
  ParetoArchive front(objectives.objectives().size());
  for (std::size_t i = from; i < to; ++i) {
    if (const auto values = objectives.minimized(committed[i])) front.insert(i, *values);
  }
  return {front.keys().begin(), front.keys().end()};
}

TEST(Evolutions, ProposeNothingTwiceAndNothingInfeasibleAndNoChildrenOfFailures) {
  const objective::ObjectiveSet objectives = archai_objectives();
  for (const std::string name : kEvolutions) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      WindowedRun run(evolution_of(name + ", trials: 40", seed), 8, failing_for_a_third);
      EXPECT_EQ(run.searcher().expected_trials(), 40U);
      const auto& committed = run.run();
      EXPECT_EQ(committed.size(), 40U) << name;
      EXPECT_EQ(run.searcher().finish_reason(), "40 trials done");
      std::set<space::ArchId> seen;
      for (const CommittedTrial& trial : committed) {
        EXPECT_TRUE(seen.insert(trial.trial.architecture().id).second) << name;
        EXPECT_TRUE(objectives.feasible(trial.trial.architecture())) << name;
        for (const trial::TrialNumber parent : trial.trial.proposal.parents) {
          EXPECT_LE(parent + 8, trial.trial.number) << name;
          EXPECT_TRUE(objectives.minimized(committed[parent])) << name << ": a child of a failed trial";
        }
      }
    }
  }
}

TEST(Evolutions, ProposeTheSameForTheSameResultsHoweverTheyAreAsked) {
  for (const std::string name : kEvolutions) {
    const std::string section = name + ", trials: 30";
    for (const std::size_t window : {1U, 8U}) {
      const auto first = ids_of(run_windowed(evolution_of(section), window, failing_for_a_third));
      EXPECT_EQ(first, ids_of(run_windowed(evolution_of(section), window, failing_for_a_third, 1))) << name;
      EXPECT_NE(first, ids_of(run_windowed(evolution_of(section, 2), window, failing_for_a_third, 1)))
          << name;
    }
  }
}

TEST(Evolutions, EndWithASmallSpace) {
  for (const std::string name : kEvolutions) {
    for (const std::size_t window : {1U, 3U}) {
      const auto objectives = objective_set("[{maximize: accuracy}, {minimize: flops}]");
      WindowedRun run(evolution_of(name, 1, objectives, uneven_space()), window);
      EXPECT_EQ(run.run().size(), 5U) << name;
      EXPECT_EQ(run.searcher().finish_reason(), "all 5 valid architectures were evaluated");
      EXPECT_FALSE(run.searcher().gave_up());
      EXPECT_EQ(run.searcher().expected_trials(), 5U);
    }
  }
}

TEST(Evolutions, GoOnWhereAllFirstTrialsFail) {
  const auto evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    if (trial.number >= 20) return closed_formula(trial);
    return trial::Failure{trial::FailureKind::kDiverged, "planted"};
  };
  for (const std::string name : kEvolutions) {
    const auto committed = run_windowed(evolution_of(name + ", trials: 50"), 4, evaluate);
    EXPECT_EQ(committed.size(), 50U) << name;
    EXPECT_FALSE(committed.back().trial.proposal.parents.empty()) << name;
  }
}

TEST(RegularizedEvolution, TakesParentsFromTheFrontOfTheNewestResults) {
  // A sample that is larger than the population is all of it.
  const auto committed = run_search(*evolution_of("regularized_evolution, population: 15"), closed_formula,
                                    {[] { return std::size_t{1}; }, [] { return std::size_t{1}; }});
  for (const CommittedTrial& child : committed) {
    const std::size_t number = child.trial.number;
    EXPECT_EQ(child.trial.proposal.origin, number < 10 ? Origin::kInitial : Origin::kMutation);
    if (number < 10) continue;
    EXPECT_THAT(numbers_on_front(committed, number < 15 ? 0 : number - 15, number),
                ::testing::Contains(child.trial.proposal.parents.at(0)));
  }
}

TEST(RegularizedEvolution, TakesAnyParentWhereTheSampleIsOne) {
  const auto committed = run_windowed(evolution_of("regularized_evolution, sample: 1"), 1);
  std::size_t beaten = 0;
  for (const CommittedTrial& child : committed) {
    const auto& parents = child.trial.proposal.parents;
    if (!parents.empty()) beaten += 1 - numbers_on_front(committed, 0, child.trial.number).count(parents[0]);
  }
  EXPECT_GT(beaten, 20U);
}

TEST(LocalSearch, TriesTheNeighboursOfTheFrontAndOfEachAboutAsMany) {
  const auto committed = run_windowed(evolution_of("local_search"), 1);
  for (const CommittedTrial& child : committed) {
    const std::size_t number = child.trial.number;
    EXPECT_EQ(child.trial.proposal.parents.empty(), number < 10);
    if (number < 10) continue;
    const trial::TrialNumber parent = child.trial.proposal.parents[0];
    EXPECT_EQ(changes_between(child, committed[parent]), 1U);
    EXPECT_THAT(numbers_on_front(committed, 0, number), ::testing::Contains(parent));
  }
}

TEST(LocalSearch, BeginsAnewInALocalOptimum) {
  // Accuracy has a peak at kernel 1 and a higher one at kernel 7, with a valley between.
  const auto evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    const auto& choices = trial.architecture().genotype.choices;
    constexpr std::array kKernels{0.6, 0.2, 0.1, 0.9};
    return trial::Measurements{{kKernels.at(choices[1]) - 0.01 * choices[0] - 0.001 * choices[2], 1}};
  };
  const auto objectives = objective_set("[{maximize: accuracy}]");
  const auto committed =
      run_windowed(evolution_of("local_search, initial: 1, trials: 192", 1, objectives), 1, evaluate);
  EXPECT_EQ(committed.size(), 192U);
  const std::uint32_t last = committed.back().trial.proposal.iteration;
  EXPECT_GE(last, 1U);
  for (const CommittedTrial& child : committed) {
    const auto& proposal = child.trial.proposal;
    EXPECT_EQ(proposal.origin == Origin::kInitial, proposal.parents.empty());
    for (const auto parent : proposal.parents) {
      EXPECT_EQ(committed[parent].trial.proposal.iteration, proposal.iteration);
    }
  }
}

TEST(Nsga2, MakesOffspringOfTheBestOfAllResults) {
  const objective::ObjectiveSet objectives = archai_objectives();
  const auto committed = run_windowed(evolution_of("nsga2, population: 10, trials: 50"), 1);
  std::size_t crossovers = 0;
  for (const CommittedTrial& child : committed) {
    const auto& proposal = child.trial.proposal;
    EXPECT_EQ(proposal.parents.empty(), child.trial.number < 10);
    crossovers += proposal.origin == Origin::kCrossover ? 1U : 0U;
    for (const trial::TrialNumber parent : proposal.parents) {
      std::size_t dominators = 0;
      for (std::size_t i = 0; i < child.trial.number; ++i) {
        dominators += dominates(*objectives.minimized(committed[i]), *objectives.minimized(committed[parent]))
                          ? 1U
                          : 0U;
      }
      EXPECT_LT(dominators, 10U) << "ten others are better";
    }
  }
  EXPECT_GT(crossovers, 28U);
  EXPECT_LT(crossovers, 40U);
}

TEST(MoBananas, ChoosesMutantsByAModelAfterItsFirstTrials) {
  const auto committed = run_windowed(evolution_of("mo_bananas, trials: 60, initial: 12, batch: 4"), 1);
  for (const CommittedTrial& trial : committed) {
    EXPECT_EQ(trial.trial.proposal.origin, trial.trial.number < 12 ? Origin::kInitial : Origin("model"));
  }
  const auto random = run_windowed(evolution_of("random, trials: 60"), 1);
  const auto volume = [](const std::vector<CommittedTrial>& trials) {
    std::vector<double> points;
    for (const CommittedTrial& trial : trials) {
      const auto values = *archai_objectives().minimized(trial);
      points.insert(points.end(), values.begin(), values.end());
    }
    return hypervolume(points, std::vector<double>{0, 1e9, 1e3});
  };
  EXPECT_GT(volume(committed), volume(random));
}

TEST(MoBananas, GoesOnFromAnyRecordedTrial) {
  const std::string section = "mo_bananas, trials: 40, batch: 6";
  const auto whole = run_windowed(evolution_of(section), 4, failing_for_a_third);
  for (const std::size_t recorded : {5U, 13U, 24U}) {
    const auto searcher = evolution_of(section);
    for (std::size_t told = 0, asked = 0; asked < recorded; ++asked) {
      if (asked >= 4) searcher->tell(whole[told++]);
      EXPECT_TRUE(searcher->accept(whole[asked].trial.proposal));
    }
    std::size_t told = recorded - 4;
    for (std::size_t number = recorded; number < 40; ++number) {
      searcher->tell(whole[told++]);
      Answer answer;
      while (answer.proposals.empty()) answer = searcher->ask(1);
      EXPECT_EQ(answer.proposals[0].architecture->id, whole[number].trial.architecture().id) << recorded;
    }
  }
}

TEST(Nsga2, HasMutantsAloneWithoutCrossovers) {
  const auto committed =
      run_windowed(evolution_of("nsga2, crossover_probability: 0, mutation_probability: 1.0e-9"), 1);
  for (std::size_t i = 20; i < 100; ++i) {
    const auto& proposal = committed[i].trial.proposal;
    EXPECT_EQ(proposal.origin, Origin::kMutation);
    EXPECT_EQ(changes_between(committed[i], committed[proposal.parents.at(0)]), 1U);
  }
}

}  // namespace
}  // namespace skyline::search
