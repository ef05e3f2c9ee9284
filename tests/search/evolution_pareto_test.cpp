#include "skyline/core/error.hpp"
#include "skyline/search/pareto.hpp"

#include "core/text/hash.hpp"
#include "search/search_run.hpp"

#include <limits>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::archai_objectives;
using testing::archai_space;
using testing::failing_for_a_third;
using testing::fails;
using testing::ids_of;
using testing::objective_set;
using testing::run_search;
using trial::CommittedTrial;
using trial::Origin;

/// The reference run: 5 generations, 10 first, 16 at most.
ConfigNode reference_options() {
  return testing::config_from_yaml(
      "{algorithm: evolution_pareto, iterations: 5, initial: 10, max_unseen: 16}");
}

std::vector<CommittedTrial> reference_run(std::uint64_t seed, const testing::Evaluate& evaluate,
                                          const testing::Pace& pace = {}) {
  const auto searcher = make_searcher(reference_options(), archai_space(), archai_objectives(), seed);
  return run_search(*searcher, evaluate, pace);
}

std::string signature(const std::vector<CommittedTrial>& committed) {
  std::string text;
  for (const CommittedTrial& trial : committed) {
    text += space::to_text(trial.trial.architecture().id);
    text += ' ' + std::string(trial.trial.proposal.origin.text()) + ' ' +
            std::to_string(trial.trial.proposal.iteration);
    for (const trial::TrialNumber parent : trial.trial.proposal.parents) text += ' ' + std::to_string(parent);
    text += '\n';
  }
  return to_hex(stable_hash64(text));
}

/// Whether every choice of `child` is one of its parents'.
bool mixes(const space::Genotype& child, const space::Genotype& first, const space::Genotype& second) {
  for (std::size_t p = 0; p < child.choices.size(); ++p) {
    if (child.choices[p] != first.choices[p] && child.choices[p] != second.choices[p]) return false;
  }
  return true;
}

TEST(EvolutionPareto, HasItsSignatureOnTheReferenceSpace) {
  EXPECT_EQ(signature(reference_run(1, testing::closed_formula)), "003d09a7e5551e0e");
}

TEST(EvolutionPareto, DependsOnTheSeed) {
  EXPECT_EQ(ids_of(reference_run(1, testing::closed_formula)),
            ids_of(reference_run(1, testing::closed_formula)));
  EXPECT_NE(ids_of(reference_run(1, testing::closed_formula)),
            ids_of(reference_run(2, testing::closed_formula)));
}

TEST(EvolutionPareto, ProposesNothingTwiceAndNothingInfeasibleOverTwentySeeds) {
  const objective::ObjectiveSet objectives = archai_objectives();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<CommittedTrial> committed = reference_run(seed, failing_for_a_third);
    std::set<space::ArchId> seen;
    for (const CommittedTrial& trial : committed) {
      EXPECT_TRUE(seen.insert(trial.trial.architecture().id).second) << "seed " << seed;
      EXPECT_TRUE(objectives.feasible(trial.trial.architecture())) << "seed " << seed;
    }
  }
}

TEST(EvolutionPareto, MakesAnInitialGenerationThenGenerationsOfAtMostMaxUnseen) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::map<std::uint32_t, std::size_t> sizes;
    for (const CommittedTrial& trial : reference_run(seed, testing::closed_formula)) {
      const trial::Proposal& proposal = trial.trial.proposal;
      ++sizes[proposal.iteration];
      EXPECT_EQ(proposal.iteration == 0, proposal.origin == Origin::kInitial);
    }
    ASSERT_EQ(sizes.size(), 5U);
    EXPECT_EQ(sizes[0], 10U);
    for (std::uint32_t iteration = 1; iteration < 5; ++iteration) {
      EXPECT_GT(sizes[iteration], 5U);
      EXPECT_LE(sizes[iteration], 16U);
    }
  }
}

TEST(EvolutionPareto, TakesParentsFromTheFrontOfAllResultsSoFarAndNeverAmongFailures) {
  const objective::ObjectiveSet objectives = archai_objectives();
  std::map<Origin, std::size_t> counts;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<CommittedTrial> committed = reference_run(seed, failing_for_a_third);
    for (const CommittedTrial& child : committed) {
      const trial::Proposal& proposal = child.trial.proposal;
      ++counts[proposal.origin];
      const std::size_t expected_parents =
          proposal.origin == Origin::kMutation ? 1 : (proposal.origin == Origin::kCrossover ? 2 : 0);
      ASSERT_EQ(proposal.parents.size(), expected_parents);
      for (const trial::TrialNumber parent : proposal.parents) {
        const auto parent_values = objectives.minimized(committed[parent]);
        ASSERT_TRUE(parent_values) << "trial " << parent << " failed and is a parent";
        EXPECT_LT(committed[parent].trial.proposal.iteration, proposal.iteration);
        for (const CommittedTrial& other : committed) {
          if (other.trial.proposal.iteration >= proposal.iteration) break;
          const auto values = objectives.minimized(other);
          EXPECT_FALSE(values && dominates(*values, *parent_values));
        }
      }
      if (proposal.origin != Origin::kCrossover) continue;
      EXPECT_NE(proposal.parents[0], proposal.parents[1]);
      EXPECT_TRUE(mixes(child.trial.architecture().genotype,
                        committed[proposal.parents[0]].trial.architecture().genotype,
                        committed[proposal.parents[1]].trial.architecture().genotype));
    }
  }
  EXPECT_GT(counts[Origin::kMutation], 100U);
  EXPECT_GT(counts[Origin::kCrossover], 50U);
  EXPECT_GT(counts[Origin::kRandom], 50U);
}

TEST(EvolutionPareto, ProposesTheSameWhateverTheRoomAndThePaceOfResults) {
  const std::string expected = signature(reference_run(4, failing_for_a_third));
  for (const std::size_t room : {1U, 2U, 3U, 7U, 16U}) {
    EXPECT_EQ(signature(reference_run(4, failing_for_a_third, {[=] { return room; }, [] { return 1U; }})),
              expected);
    EXPECT_EQ(signature(reference_run(4, failing_for_a_third, {[=] { return room; }, [] { return 0U; }})),
              expected);
  }
  RandomStream random(1);
  const testing::Pace restless{[&] { return random.below(5) + 1; }, [&] { return random.below(5) + 1; }};
  EXPECT_EQ(signature(reference_run(4, failing_for_a_third, restless)), expected);
}

TEST(EvolutionPareto, WaitsForAllResultsOfAGenerationBeforeItMakesTheNext) {
  const auto searcher = make_searcher(reference_options(), archai_space(), archai_objectives(), 1);
  const std::vector<trial::Proposal> first = searcher->ask(100).proposals;
  ASSERT_EQ(first.size(), 10U);
  for (std::size_t number = 0; number < first.size(); ++number) {
    EXPECT_TRUE(searcher->ask(100).proposals.empty());
    EXPECT_FALSE(searcher->finished());
    trial::Trial trial;
    trial.number = number;
    trial.proposal = first[number];
    searcher->tell({trial, testing::closed_formula(trial), {}});
  }
  EXPECT_FALSE(searcher->ask(100).proposals.empty());
}

TEST(EvolutionPareto, IsFinishedWhenItsLastGenerationIsHandedOut) {
  ConfigNode options = reference_options();
  options.set("iterations", ConfigNode::make_integer(1));
  const auto searcher = make_searcher(options, archai_space(), archai_objectives(), 1);
  EXPECT_EQ(searcher->expected_trials(), 10U);
  EXPECT_EQ(searcher->ask(9).proposals.size(), 9U);
  EXPECT_FALSE(searcher->finished());
  EXPECT_EQ(searcher->ask(9).proposals.size(), 1U);
  EXPECT_TRUE(searcher->finished());
  EXPECT_EQ(searcher->finish_reason(), "1 iteration done");
}

TEST(EvolutionPareto, EndsCleanlyWhenTheSpaceIsExhausted) {
  for (const std::int64_t random_mix : {0, 5}) {
    ConfigNode options = reference_options();
    options.set("iterations", ConfigNode::make_integer(1000));
    options.set("random_mix", ConfigNode::make_integer(random_mix));
    const auto searcher = make_searcher(options, archai_space(), archai_objectives(), 3);
    EXPECT_EQ(searcher->expected_trials(), 192U);
    const std::vector<CommittedTrial> committed = run_search(*searcher);
    const std::vector<space::ArchId> ids = ids_of(committed);
    EXPECT_EQ(committed.size(), 151U);
    EXPECT_EQ(std::set<space::ArchId>(ids.begin(), ids.end()).size(), 151U);
    EXPECT_EQ(searcher->finish_reason(), "all 151 valid architectures were evaluated");
    EXPECT_EQ(searcher->expected_trials(), 151U);
  }
}

TEST(EvolutionPareto, StartsAnewFromRandomSamplesWhenAllTrialsFail) {
  ConfigNode options = reference_options();
  options.set("random_mix", ConfigNode::make_integer(0));
  options.set("max_unseen", ConfigNode::make_integer(4));
  const auto searcher = make_searcher(options, archai_space(), archai_objectives(), 3);
  const std::vector<CommittedTrial> committed = run_search(*searcher, [](const trial::Trial&) {
    return trial::Failure{trial::FailureKind::kException, "broken"};
  });
  EXPECT_EQ(committed.size(), 10U + 4 * 4U);
  for (const CommittedTrial& trial : committed) EXPECT_EQ(trial.trial.proposal.origin, Origin::kInitial);
}

TEST(EvolutionPareto, TreatsNanAndViolatedMeasuredConstraintsAsFailures) {
  const objective::ObjectiveSet objectives =
      objective_set("[{maximize: accuracy}, {minimize: flops}]", "[{latency: [0, 100]}]");
  const auto searcher = make_searcher(reference_options(), archai_space(), objectives, 3);
  const std::vector<CommittedTrial> committed = run_search(*searcher, [](const trial::Trial& trial) {
    auto measurements = std::get<trial::Measurements>(testing::closed_formula(trial));
    if (fails(trial)) measurements.values[0] = std::numeric_limits<double>::quiet_NaN();
    return measurements;
  });
  std::size_t children = 0;
  for (const CommittedTrial& trial : committed) {
    for (const trial::TrialNumber parent : trial.trial.proposal.parents) {
      ++children;
      EXPECT_FALSE(fails(committed[parent].trial));
      EXPECT_LE(std::get<trial::Measurements>(committed[parent].outcome).values[1], 100);
    }
  }
  EXPECT_GT(children, 20U);
}

ConfigNode steady_options() {
  ConfigNode options = reference_options();
  options.set("breed", ConfigNode::make_scalar("commit", {}));
  return options;
}

std::vector<CommittedTrial> steady_run(std::uint64_t seed, std::size_t room) {
  const auto searcher = make_searcher(steady_options(), archai_space(), archai_objectives(), seed);
  return run_search(*searcher, failing_for_a_third, {[=] { return room; }, [=] { return room; }});
}

TEST(SteadyEvolution, ProposesAsManyTrialsAsThereIsRoomForWhateverItWasTold) {
  const auto searcher = make_searcher(steady_options(), archai_space(), archai_objectives(), 1);
  EXPECT_FALSE(searcher->generation());
  std::map<Origin, std::size_t> counts;
  for (const trial::Proposal& proposal : searcher->ask(30).proposals) ++counts[proposal.origin];
  EXPECT_EQ(counts, (std::map<Origin, std::size_t>{{Origin::kInitial, 10}, {Origin::kRandom, 20}}));
  EXPECT_EQ(searcher->ask(2).proposals.size(), 2U);
}

TEST(SteadyEvolution, MakesGenerationsWhereNothingBoundsAnAsk) {
  const auto searcher = make_searcher(steady_options(), archai_space(), archai_objectives(), 1);
  const std::size_t any = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(searcher->ask(any).proposals.size(), 10U);
  EXPECT_EQ(searcher->ask(any).proposals.size(), 16U);
}

TEST(SteadyEvolution, AsksForIterationsOfMaxUnseenTrialsAndForNoneTwice) {
  for (const std::size_t room : {1U, 5U, 40U}) {
    std::map<std::uint32_t, std::size_t> sizes;
    std::set<space::ArchId> seen;
    for (const CommittedTrial& trial : steady_run(3, room)) {
      ++sizes[trial.trial.proposal.iteration];
      EXPECT_TRUE(seen.insert(trial.trial.architecture().id).second);
    }
    EXPECT_EQ(sizes, (std::map<std::uint32_t, std::size_t>{{0, 10}, {1, 16}, {2, 16}, {3, 16}, {4, 16}}));
  }
}

TEST(SteadyEvolution, TakesParentsFromTheFrontOfWhatItWasToldSoFar) {
  const objective::ObjectiveSet objectives = archai_objectives();
  std::map<Origin, std::size_t> counts;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<CommittedTrial> committed = steady_run(seed, 1);  // each is told before the next ask
    for (const CommittedTrial& child : committed) {
      ++counts[child.trial.proposal.origin];
      for (const trial::TrialNumber parent : child.trial.proposal.parents) {
        const auto parent_values = objectives.minimized(committed[parent]);
        ASSERT_TRUE(parent_values) << "trial " << parent << " failed and is a parent";
        for (trial::TrialNumber other = 0; other < child.trial.number; ++other) {
          const auto values = objectives.minimized(committed[other]);
          EXPECT_FALSE(values && dominates(*values, *parent_values));
        }
      }
    }
  }
  EXPECT_GT(counts[Origin::kMutation], 200U);
  EXPECT_GT(counts[Origin::kCrossover], 50U);
  EXPECT_GT(counts[Origin::kRandom], 50U);
}

TEST(SteadyEvolution, ProposesTheSameForTheSameResultsAndRoom) {
  EXPECT_EQ(signature(steady_run(4, 3)), signature(steady_run(4, 3)));
  EXPECT_NE(signature(steady_run(4, 3)), signature(steady_run(5, 3)));
}

TEST(SteadyEvolution, EndsCleanlyWhenTheSpaceIsExhausted) {
  ConfigNode options = steady_options();
  options.set("iterations", ConfigNode::make_integer(1000));
  const auto searcher = make_searcher(options, archai_space(), archai_objectives(), 3);
  const std::vector<CommittedTrial> committed =
      run_search(*searcher, testing::closed_formula, {[] { return 7U; }, [] { return 3U; }});
  EXPECT_EQ(committed.size(), 151U);
  EXPECT_EQ(searcher->finish_reason(), "all 151 valid architectures were evaluated");
}

TEST(EvolutionPareto, RefusesAResultThatItDidNotAskFor) {
  const auto searcher = make_searcher(reference_options(), archai_space(), archai_objectives(), 1);
  const std::vector<CommittedTrial> committed = run_search(*searcher);
  EXPECT_THROW(searcher->tell(committed.front()), InternalError);
}

}  // namespace
}  // namespace skyline::search
