#include "skyline/core/error.hpp"

#include "search/search_run.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::archai_objectives;
using testing::archai_space;
using testing::config_from_yaml;
using ::testing::HasSubstr;
using testing::ids_of;
using testing::objective_set;
using testing::run_search;
using testing::uneven_space;
using testing::user_error_of;
using trial::CommittedTrial;
using trial::Origin;

/// A section `search`.
ConfigNode options_of(const std::string& algorithm, std::optional<std::int64_t> trials = {}) {
  ConfigNode section = config_from_yaml("algorithm: " + algorithm, "run.yaml", "search");
  if (trials) section.set("trials", ConfigNode::make_integer(*trials));
  return section;
}

objective::ObjectiveSet unconstrained() {
  return objective_set("[{maximize: accuracy}, {minimize: flops}]");
}

std::vector<space::ArchId> valid_ids(const space::SearchSpace& space,
                                     const objective::ObjectiveSet& objectives) {
  std::vector<space::ArchId> ids;
  for (std::int64_t number = 0; number < space.genotype_count(); ++number) {
    try {
      const space::Architecture architecture = space.build(space.genotype_at(number));
      const bool is_new = std::find(ids.begin(), ids.end(), architecture.id) == ids.end();
      if (is_new && objectives.feasible(architecture)) ids.push_back(architecture.id);
    } catch (const UserError&) {
      continue;
    }
  }
  return ids;
}

TEST(ExhaustiveSearch, ProposesEveryValidArchitectureOnceInTheOrderOfGenotypes) {
  const auto searcher = make_searcher(options_of("exhaustive"), archai_space(), archai_objectives(), 1);
  EXPECT_EQ(searcher->expected_trials(), 192U);
  const std::vector<CommittedTrial> committed = run_search(*searcher);
  EXPECT_EQ(committed.size(), 151U);
  EXPECT_EQ(ids_of(committed), valid_ids(archai_space(), archai_objectives()));
  EXPECT_EQ(committed.front().trial.proposal.origin, Origin::kEnumerated);
  EXPECT_EQ(searcher->finish_reason(), "all 151 valid architectures were evaluated");
  EXPECT_EQ(searcher->expected_trials(), 151U);
}

TEST(ExhaustiveSearch, SkipsNetworksThatCannotBeBuiltAndGenotypesThatBuildTheSame) {
  const auto searcher = make_searcher(options_of("exhaustive"), uneven_space(), unconstrained(), 1);
  const std::vector<CommittedTrial> committed = run_search(*searcher);
  EXPECT_EQ(committed.size(), 1U + 2 * 2U);  // no block; kernels 1 and 3, of two widths each
  EXPECT_EQ(ids_of(committed), valid_ids(uneven_space(), unconstrained()));
}

TEST(ExhaustiveSearch, StopsAfterTheGivenTrials) {
  const auto searcher = make_searcher(options_of("exhaustive", 7), archai_space(), unconstrained(), 1);
  EXPECT_EQ(searcher->expected_trials(), 7U);
  EXPECT_EQ(run_search(*searcher).size(), 7U);
  EXPECT_EQ(searcher->finish_reason(), "7 trials done");
}

/// A space of ten parameters and 10^20 genotypes, without a network.
space::SearchSpace rates_space() {
  std::string parameters = "parameters:\n";
  for (char name = 'a'; name <= 'j'; ++name) {
    parameters += std::string("  ") + name + ": {range: [1.0e-5, 1.0e-1], log: true, count: 100}\n";
  }
  const ConfigNode section = config_from_yaml(parameters, "space.yaml", "space");
  return space::SearchSpace::parse(section, {});
}

/// Distances from the best place of three of the parameters.
trial::Outcome distances(const trial::Trial& trial) {
  const std::vector<std::uint32_t>& choices = trial.architecture().genotype.choices;
  trial::Measurements measured;
  for (std::size_t i = 0; i < 3; ++i) measured.values.push_back(std::abs(double(choices[i]) - 30) / 100);
  return measured;
}

objective::ObjectiveSet measured_objectives() {
  return objective::ObjectiveSet::parse(
      config_from_yaml("[{minimize: x}, {minimize: y}, {minimize: z}]", "run.yaml", "objectives"), nullptr,
      {{.name = "x", .range = {0, 1}}, {.name = "y", .range = {0, 1}}, {.name = "z", .range = {0, 1}}},
      false);
}

TEST(Searchers, SearchSpacesOfParametersAloneThatAreTooLargeToCount) {
  for (const std::string section :
       {"algorithm: random\ntrials: 40", "algorithm: skyline\ntrials: 40",
        "algorithm: evolution_pareto\niterations: 4\ninitial: 10\nmax_unseen: 10"}) {
    const ConfigNode options = config_from_yaml(section, "run.yaml", "search");
    const auto searcher = make_searcher(options, rates_space(), measured_objectives(), 1);
    const std::vector<CommittedTrial> committed =
        run_search(*searcher, distances,
                   {.room = [] { return std::size_t{10}; }, .tells = [] { return std::size_t{10}; }});
    const std::vector<space::ArchId> ids = ids_of(committed);
    EXPECT_GE(committed.size(), 20U) << section;
    EXPECT_EQ(std::set<space::ArchId>(ids.begin(), ids.end()).size(), ids.size()) << section;
  }
  EXPECT_THAT(
      user_error_of([] { make_searcher(options_of("exhaustive"), rates_space(), measured_objectives(), 1); }),
      HasSubstr("exhaustive would look at about 1e+20 genotypes one by one"));
}

TEST(Searchers, ProposeEveryTrialWithTheBudgetThatTheyWereGiven) {
  for (const char* name : {"exhaustive", "random", "evolution_pareto"}) {
    const ConfigNode section = testing::config_from_yaml(std::string("algorithm: ") + name);
    const auto searcher = make_searcher(section, archai_space(), archai_objectives(), 1, {0.25});
    const std::vector<trial::Proposal> proposals = searcher->ask(5).proposals;
    EXPECT_FALSE(proposals.empty());
    for (const trial::Proposal& proposal : proposals) EXPECT_EQ(proposal.budget.epochs, 0.25) << name;
  }
}

TEST(RandomSearch, ProposesAHundredValidArchitecturesByDefault) {
  const auto searcher = make_searcher(options_of("random"), archai_space(), archai_objectives(), 1);
  EXPECT_EQ(searcher->expected_trials(), 100U);
  const std::vector<CommittedTrial> committed = run_search(*searcher);
  const std::vector<space::ArchId> ids = ids_of(committed);
  EXPECT_EQ(std::set<space::ArchId>(ids.begin(), ids.end()).size(), 100U);
  for (const CommittedTrial& trial : committed) {
    EXPECT_TRUE(archai_objectives().feasible(trial.trial.architecture()));
  }
  EXPECT_EQ(searcher->finish_reason(), "100 trials done");
}

TEST(RandomSearch, EndsCleanlyWhenTheSpaceIsExhausted) {
  const auto searcher = make_searcher(options_of("random", 1000), archai_space(), archai_objectives(), 1);
  const std::vector<CommittedTrial> committed = run_search(*searcher);
  const std::vector<space::ArchId> ids = ids_of(committed);
  EXPECT_EQ(std::set<space::ArchId>(ids.begin(), ids.end()).size(), 151U);
  EXPECT_EQ(committed.size(), 151U);
  EXPECT_EQ(searcher->finish_reason(), "all 151 valid architectures were evaluated");
  EXPECT_EQ(searcher->expected_trials(), 151U);
}

TEST(RandomSearch, CountsEqualNetworksOnceWhenTheSpaceIsExhausted) {
  const auto searcher = make_searcher(options_of("random"), uneven_space(), unconstrained(), 1);
  EXPECT_EQ(run_search(*searcher).size(), 5U);
  EXPECT_EQ(searcher->finish_reason(), "all 5 valid architectures were evaluated");
}

/// A space of widths, one for each layer, whose networks can be built only if no width shrinks.
space::SearchSpace growing_widths(int layers, int values) {
  std::string text = "parameters:\n";
  for (int i = 0; i < layers; ++i) {
    text += "  w" + std::to_string(i) + ": {range: [1, " + std::to_string(values) + "]}\n";
  }
  text += "network:\n  - global_average_pool\n  - linear: {features: $w0}\n";
  for (int i = 1; i < layers; ++i) {
    const std::string name = "$w" + std::to_string(i);
    text +=
        "  - linear: {features: \"if(" + name + " >= $w" + std::to_string(i - 1) + ", " + name + ", 0)\"}\n";
  }
  text += "  - linear: {features: $classes}\n";
  return space::SearchSpace::parse(config_from_yaml(text, "space.yaml", "space"), {{1, 2, 2}, 3});
}

TEST(RandomSearch, FindsTwoThousandNetworksWhereAlmostNoneCanBeBuilt) {
  // About one of 110,000 genotypes: 92,378 of 10^10.
  const auto searcher = make_searcher(options_of("random", 2000), growing_widths(10, 10), unconstrained(), 1);
  const std::vector<space::ArchId> ids = ids_of(run_search(*searcher));
  EXPECT_EQ(std::set<space::ArchId>(ids.begin(), ids.end()).size(), 2000U);
  EXPECT_EQ(searcher->finish_reason(), "2000 trials done");
  EXPECT_FALSE(searcher->gave_up());
}

TEST(ExhaustiveSearch, PassesOverWhatCannotBeBuiltForTheSameReason) {
  // 286 of 1,048,576 genotypes.
  const auto searcher = make_searcher(options_of("exhaustive"), growing_widths(10, 4), unconstrained(), 1);
  EXPECT_EQ(run_search(*searcher).size(), 286U);
  EXPECT_EQ(searcher->finish_reason(), "all 286 valid architectures were evaluated");
  EXPECT_EQ(searcher->progress_summary(), "looked at 1048576 of 1048576 genotypes");
}

TEST(ExhaustiveSearch, RefusesASpaceThatTakesLongToLookThrough) {
  const std::string widths = "{range: [1, 64]}";
  const space::SearchSpace space = space::SearchSpace::parse(
      config_from_yaml(
          "parameters: {a: " + widths + ", b: " + widths + ", c: " + widths + ", d: " + widths +
              ", e: " + widths +
              "}\nnetwork:\n  - global_average_pool\n  - linear: {features: $a}\n  - linear: "
              "{features: $b}\n  - linear: {features: $c}\n  - linear: {features: $d}\n  - linear: "
              "{features: $e}\n  - linear: {features: $classes}\n",
          "space.yaml", "space"),
      {{1, 2, 2}, 3});
  EXPECT_EQ(user_error_of([&] { make_searcher(options_of("exhaustive", 5), space, unconstrained(), 1); }),
            "search.algorithm: exhaustive would look at about 1.1e+09 genotypes one by one, which takes too "
            "long; `random` draws different ones of any space");
}

TEST(RandomSearch, GivesUpInASpaceTooLargeToBeSureAndSaysWhatItLookedAt) {
  // Three of 10^9 genotypes build another network than the others, and every network depends on all
  // parameters.
  const space::SearchSpace space = space::SearchSpace::parse(config_from_yaml(R"yaml(
parameters: {a: {range: [1, 1000]}, b: {range: [1, 1000]}, c: {range: [1, 1000]}}
network:
  - global_average_pool
  - linear: {features: "if($a + $b + $c == 2999, 5, 4)"}
  - linear: {features: $classes}
)yaml",
                                                                              "space.yaml", "space"),
                                                             {{1, 2, 2}, 3});
  const auto searcher = make_searcher(options_of("random"), space, unconstrained(), 1);
  EXPECT_EQ(run_search(*searcher).size(), 1U);
  EXPECT_TRUE(searcher->gave_up());
  EXPECT_THAT(searcher->finish_reason(), HasSubstr("no new valid architecture was found among the last "));
  EXPECT_THAT(searcher->finish_reason(),
              HasSubstr("1 architecture had been found, and the space may have more"));
}

TEST(RandomSearch, KnowsThatALargeSpaceOfFewNetworksIsExhausted) {
  // 10^6 genotypes, all of one architecture: `blocks` is 0, so nothing else counts.
  const space::SearchSpace space = space::SearchSpace::parse(config_from_yaml(R"(
parameters:
  blocks: {choice: [0]}
  a: {range: [1, 1000]}
  b: {range: [1, 1000]}
network:
  - repeat: $blocks
    body:
      - linear: {features: $a * $b}
  - global_average_pool
  - linear: {features: $classes}
)",
                                                                              "space.yaml", "space"),
                                                             {{1, 2, 2}, 3});
  const auto searcher = make_searcher(options_of("random"), space, unconstrained(), 1);
  EXPECT_EQ(run_search(*searcher).size(), 1U);
  EXPECT_EQ(searcher->finish_reason(), "the only valid architecture was evaluated");
  EXPECT_FALSE(searcher->gave_up());
}

TEST(Searchers, ProposeTheSameWhateverTheRoom) {
  for (const std::string algorithm : {"random", "exhaustive"}) {
    const auto whole = make_searcher(options_of(algorithm, 140), archai_space(), archai_objectives(), 5);
    const std::vector<space::ArchId> expected = ids_of(run_search(*whole));
    for (const std::size_t room : {1U, 3U, 10U}) {
      const auto pieces = make_searcher(options_of(algorithm, 140), archai_space(), archai_objectives(), 5);
      const testing::Pace pace{[=] { return room; }, [] { return 1U; }};
      EXPECT_EQ(ids_of(run_search(*pieces, testing::closed_formula, pace)), expected);
    }
  }
}

TEST(Searchers, ReturnNothingWithoutRoomOrOnceFinished) {
  for (const std::string algorithm : {"evolution_pareto", "random", "exhaustive"}) {
    const auto searcher = make_searcher(options_of(algorithm), archai_space(), archai_objectives(), 5);
    EXPECT_TRUE(searcher->ask(0).proposals.empty());
    run_search(*searcher, testing::closed_formula, {[&] { return 4U; }, [] { return 4U; }});
    EXPECT_TRUE(searcher->ask(100).proposals.empty());
  }
}

TEST(Searchers, RefuseASpaceWithoutAValidArchitectureAndSayWhy) {
  for (const std::string algorithm : {"evolution_pareto", "random", "exhaustive"}) {
    const auto error_with = [&](const std::string& constraints) {
      return user_error_of([&] {
        make_searcher(options_of(algorithm), archai_space(),
                      objective_set("[{minimize: flops}]", constraints), 1);
      });
    };
    EXPECT_EQ(error_with("[{flops: [0, 10]}]"),
              "no valid architecture: of 192, 192 fail `flops: [0, 10]` (smallest found: 88138)");
    EXPECT_EQ(
        error_with("[{parameters: [1.0e9, 1.0e10]}, {flops: [88138, 88138]}]"),
        "no valid architecture: of 192, 192 fail `parameters: [1000000000, 10000000000]` (largest found: "
        "8843146), 191 fail `flops: [88138, 88138]`");
    EXPECT_EQ(
        error_with("[{parameters: [235, 236]}]"),
        "no valid architecture: of 192, 192 fail `parameters: [235, 236]` (nearest found: 234 and 362)");
  }
}

TEST(Searchers, NameNetworksThatCannotBeBuiltWhenNoArchitectureIsValid) {
  const std::string error = user_error_of([] {
    make_searcher(options_of("random"), uneven_space(),
                  objective_set("[{minimize: flops}]", "[{flops: [0, 1]}]"), 1);
  });
  EXPECT_THAT(error, HasSubstr("no valid architecture: of 12, 10 fail `flops: [0, 1]` (smallest found: "));
  EXPECT_THAT(error, HasSubstr(", 2 cannot be built (space.yaml:9:17: space.network[0].body[0].conv2d"));
}

TEST(Searchers, SayWhenALargeSpaceWasOnlySampled) {
  const space::SearchSpace space = space::SearchSpace::parse(config_from_yaml(R"(
parameters:
  a: {range: [1, 1000]}
  b: {range: [1, 1000]}
network:
  - global_average_pool
  - linear: {features: $a * $b}
  - linear: {features: $classes}
)",
                                                                              "space.yaml", "space"),
                                                             {{1, 2, 2}, 3});
  const std::string error = user_error_of([&] {
    make_searcher(options_of("random"), space, objective_set("[{minimize: flops}]", "[{flops: [0, 1]}]"), 1);
  });
  EXPECT_THAT(error,
              HasSubstr("no valid architecture found by a directed search: of 18000, 18000 fail `flops: "
                        "[0, 1]` (smallest found: 16)"));
}

/// Twelve convolutions have at most 3,000 parameters only if nearly all of them are narrow.
space::SearchSpace wide_space() {
  return space::SearchSpace::parse(config_from_yaml(R"(
parameters:
  kernel: {choice: [1, 3, 5, 7], each: true}
  width: {range: [1, 256], each: true}
network:
  - repeat: 12
    body: [{conv2d: {channels: $width, kernel: $kernel}}, relu]
  - global_average_pool
  - linear: {features: $classes}
)",
                                                    "space.yaml", "space"),
                                   {{1, 8, 8}, 10});
}

TEST(Searchers, FindTheFewArchitecturesThatMeetTheConstraints) {
  const space::SearchSpace space = wide_space();
  const auto objectives = objective_set("[{minimize: flops}]", "[{parameters: [0, 3000]}]");
  const auto searcher = make_searcher(options_of("random", 20), space, objectives, 1);
  const std::vector<CommittedTrial> committed = run_search(*searcher);
  const std::vector<space::ArchId> ids = ids_of(committed);
  EXPECT_EQ(std::set<space::ArchId>(ids.begin(), ids.end()).size(), 20U);
  for (const CommittedTrial& trial : committed) {
    EXPECT_TRUE(objectives.feasible(trial.trial.architecture()));
  }
}

TEST(Searchers, AnswerSoonAndAreAskedAgainWhereCandidatesAreRare) {
  const auto objectives = objective_set("[{minimize: flops}]", "[{parameters: [0, 3000]}]");
  ConfigNode evolution = options_of("evolution_pareto");
  evolution.set("initial", ConfigNode::make_integer(12));
  ConfigNode steady = evolution;
  steady.set("breed", ConfigNode::make_scalar("commit", {}));
  for (const ConfigNode& section : {options_of("random", 12), evolution, steady}) {
    const auto searcher = make_searcher(section, wide_space(), objectives, 1);
    std::size_t proposed = 0;
    int asks = 0;
    for (Answer answer; proposed < 12 && asks < 100; ++asks) {
      answer = searcher->ask(12 - proposed);
      proposed += answer.proposals.size();
      EXPECT_EQ(answer.state, proposed < 12 ? Answer::State::kMore : Answer::State::kAnswered);
    }
    EXPECT_EQ(proposed, 12U);
    EXPECT_GT(asks, 2);
  }
}

TEST(ListedSearch, RepeatsEachGenotypeWithoutWaitingForResults) {
  const ConfigNode section = config_from_yaml(
      "{algorithm: listed, genotypes: [[0, 1, 1], [1, 0, 0]], seeds: 2}", "run.yaml", "search");
  const auto searcher = make_searcher(section, uneven_space(), unconstrained(), 1, {0.5});
  EXPECT_FALSE(searcher->needs_results());
  EXPECT_EQ(searcher->expected_trials(), 4U);
  std::vector<trial::Proposal> proposals = searcher->ask(3).proposals;
  ASSERT_EQ(proposals.size(), 3U);
  for (trial::Proposal& last : searcher->ask(3).proposals) proposals.push_back(std::move(last));
  ASSERT_EQ(proposals.size(), 4U);
  EXPECT_TRUE(searcher->finished());
  EXPECT_EQ(searcher->finish_reason(), "4 listed trials done");
  const std::vector<std::vector<std::uint32_t>> listed{{0, 1, 1}, {1, 0, 0}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(proposals[i].architecture->genotype.choices, listed[i / 2]);
    EXPECT_EQ(proposals[i].repeat, i % 2);
    EXPECT_EQ(proposals[i].budget.epochs, 0.5);
  }
}

}  // namespace
}  // namespace skyline::search
