#include "skyline/core/error.hpp"
#include "skyline/search/pareto.hpp"

#include "search/search_run.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::archai_objectives;
using testing::archai_space;
using testing::closed_formula;
using testing::config_from_yaml;
using testing::Evaluate;
using testing::ids_of;
using testing::kernels_space;
using testing::objective_set;
using testing::run_search;
using testing::WindowedRun;
using trial::CommittedTrial;

std::unique_ptr<Searcher> skyline(const space::SearchSpace& space, const objective::ObjectiveSet& objectives,
                                  int trials, std::uint64_t seed = 1, int batch = 1) {
  const std::string section =
      "{algorithm: skyline, trials: " + std::to_string(trials) + ", batch: " + std::to_string(batch) + "}";
  return make_searcher(config_from_yaml(section, "run.yaml", "search"), space, objectives, seed);
}

/// The best network has kernels 5, 3 and 1, and widths 8, 12 and 16; each step away from it costs.
trial::Outcome steps_from_the_best(const trial::Trial& trial) {
  constexpr std::array<double, 6> kBest{2, 1, 0, 1, 2, 3};
  const std::vector<std::uint32_t>& choices = trial.architecture().genotype.choices;
  double steps = 0;
  for (std::size_t i = 0; i < kBest.size(); ++i) steps += std::abs(choices[i] - kBest[i]);
  return trial::Measurements{{1 / (1 + steps), steps}};
}

double best_accuracy(const std::vector<CommittedTrial>& committed) {
  double best = 0;
  for (const CommittedTrial& trial : committed) {
    if (const auto* measured = std::get_if<trial::Measurements>(&trial.outcome)) {
      best = std::max(best, measured->values[0]);
    }
  }
  return best;
}

TEST(SkylineSearch, FindsTheBestOfFourThousandNetworksInFiftyTrials) {
  const auto objectives = objective_set("[{maximize: accuracy}]");
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    WindowedRun run(skyline(kernels_space(), objectives, 50, seed), 1, steps_from_the_best);
    EXPECT_EQ(best_accuracy(run.run(50)), 1) << "seed " << seed;
  }
}

TEST(SkylineSearch, HasABetterFrontThanRandomSearch) {
  const auto objectives = objective_set("[{maximize: accuracy}, {minimize: macs}]");
  const auto volume = [&](const std::vector<CommittedTrial>& committed) {
    std::vector<double> values;
    for (const CommittedTrial& trial : committed) {
      const std::vector<double> point = objectives.minimized(trial).value();
      values.insert(values.end(), {point[0], std::log(point[1])});
    }
    return hypervolume(values, std::vector<double>{0, std::log(1e7)});
  };
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    WindowedRun model(skyline(kernels_space(), objectives, 40, seed), 4, steps_from_the_best);
    const auto random =
        make_searcher(config_from_yaml("{algorithm: random, trials: 40}", "run.yaml", "search"),
                      kernels_space(), objectives, seed);
    EXPECT_GT(volume(model.run(40)), volume(run_search(*random, steps_from_the_best))) << "seed " << seed;
  }
}

TEST(SkylineSearch, BeginsNearTheMiddleOfRangesAndThenFarAway) {
  const auto space = space::SearchSpace::parse(
      config_from_yaml("parameters: {a: {range: [0, 100]}, b: {range: [0, 100]}, word: {choice: [x, y]}}",
                       "space.yaml", "space"),
      {});
  const auto distance_from_middle = [](const CommittedTrial& trial) {
    const std::vector<std::uint32_t>& choices = trial.trial.architecture().genotype.choices;
    return std::max(std::abs(choices[0] - 50.0), std::abs(choices[1] - 50.0));
  };
  const auto objectives = objective_set("[{maximize: accuracy}]");
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    WindowedRun run(skyline(space, objectives, 4, seed), 1, [](const trial::Trial&) {
      return trial::Measurements{{0.5, 1}};
    });
    const std::vector<CommittedTrial> committed = run.run(4);
    EXPECT_LT(distance_from_middle(committed[0]), 10) << "seed " << seed;
    for (std::size_t i = 1; i < 4; ++i) EXPECT_GT(distance_from_middle(committed[i]), 30) << "seed " << seed;
  }
}

TEST(SkylineSearch, SaysHowFarItsPredictionsWereFromTheResults) {
  WindowedRun run(skyline(kernels_space(), objective_set("[{minimize: macs}, {maximize: accuracy}]"), 40, 1),
                  2, steps_from_the_best);
  run.run(5);
  EXPECT_EQ(run.searcher().progress_summary(), "") << "no model chose these";
  run.run(40);
  EXPECT_THAT(run.searcher().progress_summary(),
              ::testing::MatchesRegex(
                  "of the last 20 choices the model predicted accuracy within 0\\.[0-9]+ on average, "
                  "1[0-9] within a standard deviation"));
  WindowedRun flat(skyline(kernels_space(), objective_set("[{maximize: accuracy}]"), 20, 1), 1,
                   [](const trial::Trial&) {
                     return trial::Measurements{{0.5, 1}};
                   });
  flat.run(20);
  EXPECT_EQ(flat.searcher().progress_summary(),
            "of the last 15 choices the model predicted accuracy within 0 on average, "
            "15 within a standard deviation");
}

TEST(SkylineSearch, ProposesTheSameHoweverLongItThinks) {
  for (const int batch : {1, 3}) {
    std::vector<std::vector<space::ArchId>> runs;
    for (const std::size_t pause_us : {0U, 300U}) {
      const Evaluate late = [=](const trial::Trial& trial) {
        std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
        return closed_formula(trial);
      };
      WindowedRun run(
          skyline(kernels_space(), objective_set("[{maximize: accuracy}, {minimize: flops}]"), 25, 7, batch),
          4, late);
      runs.push_back(ids_of(run.run(25)));
    }
    EXPECT_EQ(runs[0].size(), 25U);
    EXPECT_EQ(runs[0], runs[1]) << "batch " << batch;
  }
}

TEST(SkylineSearch, ProposesTheSameOnAnyNumberOfThreads) {
  std::vector<std::vector<space::ArchId>> runs;
  std::atomic<int> asked = 0;
  for (const std::size_t threads : {1U, 2U, 5U}) {
    auto searcher =
        skyline(kernels_space(), objective_set("[{maximize: accuracy}, {minimize: flops}]"), 120, 3, 4);
    searcher->think_on([&asked, threads] {
      ++asked;
      return threads;
    });
    runs.push_back(ids_of(WindowedRun(std::move(searcher), 4).run(120)));
  }
  EXPECT_GT(asked, 0);
  EXPECT_EQ(runs[0].size(), 120U);
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[0], runs[2]);
}

/// Runs a search without a stop, and again with the first trials recorded, for each of these numbers.
void expect_the_same_after(const std::function<std::unique_ptr<Searcher>()>& make, std::size_t trials,
                           std::size_t window, const std::vector<std::size_t>& numbers_recorded,
                           const Evaluate& evaluate = closed_formula) {
  WindowedRun whole(make(), window, evaluate);
  const std::vector<CommittedTrial> committed = whole.run(trials);
  for (const std::size_t recorded : numbers_recorded) {
    WindowedRun resumed(make(), window, evaluate);
    const std::vector<CommittedTrial> first(committed.begin(),
                                            committed.begin() + static_cast<std::ptrdiff_t>(recorded));
    EXPECT_EQ(ids_of(resumed.run(trials, first)), ids_of(committed)) << recorded << " recorded";
    EXPECT_EQ(resumed.thoughts() == 0, recorded == trials);
    EXPECT_TRUE(resumed.searcher().finished());
  }
}

TEST(SkylineSearch, GoesOnAfterRecordedTrialsAsIfItHadProposedThem) {
  const auto objectives = objective_set("[{maximize: accuracy}, {minimize: flops}]");
  for (const int batch : {1, 3}) {
    expect_the_same_after([&] { return skyline(kernels_space(), objectives, 30, 3, batch); }, 30, 4,
                          {2, 10, 20, 30});
  }
}

TEST(SkylineSearch, GoesOnTheSameWhereAFailureCountsAsAWorstThatCameLater) {
  const Evaluate evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    if (trial.number % 5 == 2) return trial::Failure{trial::FailureKind::kException, "every fifth"};
    if (trial.number == 70) return trial::Measurements{{-3, 0}};
    return steps_from_the_best(trial);
  };
  const auto make = [] { return skyline(kernels_space(), objective_set("[{maximize: accuracy}]"), 76, 6); };
  expect_the_same_after(make, 76, 1, {65, 73}, evaluate);
}

TEST(SkylineSearch, GoesOnTheSameWhereFewArchitecturesMeetTheConstraints) {
  const auto objectives = objective_set("[{maximize: accuracy}]", "[{parameters: [0, 240]}]");
  const auto make = [&] { return skyline(kernels_space(), objectives, 12, 8); };
  expect_the_same_after(make, 12, 2, {1, 4, 9}, steps_from_the_best);
}

/// A space whose gate makes a branch a bias, whatever its kernel is, and that has no network without it.
space::SearchSpace gated_space() {
  return space::SearchSpace::parse(config_from_yaml(R"(
parameters:
  gate:  {choice: [zero, identity]}
  left:  {choice: [1, 3, 5, 7]}
  right: {choice: [1, 3, 5, 7, 9]}
  width: {choice: [4, 8]}
network:
  - conv2d: {channels: $width, kernel: 3}
  - branch:
      - [conv2d: {channels: $width, kernel: $left}, batch_norm]
      - [$gate, conv2d: {channels: $width, kernel: $right}, batch_norm]
    merge: add
  - global_average_pool
  - linear: {features: $classes}
)",
                                                    "space.yaml", "space"),
                                   {{3, 8, 8}, 10});
}

TEST(SkylineSearch, GoesOnTheSameWhereNetworksDifferByABias) {
  const auto objectives = objective_set("[{maximize: accuracy}, {minimize: flops}]");
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U})
    expect_the_same_after([&] { return skyline(gated_space(), objectives, 30, seed); }, 30, 1, {6, 18, 25});
}

TEST(SkylineSearch, TakesInfiniteAndHugeValuesForTheWorst) {
  const Evaluate evaluate = [](const trial::Trial& trial) {
    const std::uint32_t kernel = trial.architecture().genotype.choices[0];
    const double latency = kernel == 3   ? std::numeric_limits<double>::infinity()
                           : kernel == 2 ? 1e308
                                         : kernel;
    return trial::Measurements{{-latency, latency}};
  };
  for (const char* objectives : {"[{minimize: latency}]", "[{maximize: accuracy}, {minimize: latency}]"}) {
    WindowedRun run(skyline(kernels_space(), objective_set(objectives), 25), 2, evaluate);
    EXPECT_EQ(run.run(25).size(), 25U);
  }
}

TEST(SkylineSearch, NamesATrialOfTheFrontAsParent) {
  WindowedRun run(skyline(kernels_space(), objective_set("[{maximize: accuracy}]"), 20, 5), 1,
                  steps_from_the_best);
  const std::vector<CommittedTrial> committed = run.run(20);
  EXPECT_TRUE(committed[0].trial.proposal.parents.empty());
  for (std::size_t i = 6; i < committed.size(); ++i) {
    const trial::Proposal& proposal = committed[i].trial.proposal;
    EXPECT_EQ(proposal.origin.text(), "model");
    ASSERT_EQ(proposal.parents.size(), 1U);
    EXPECT_LT(proposal.parents[0], i);
  }
}

/// A space of cells with an operation on each of six edges. What reads zeros only adds its bias.
space::SearchSpace cells_space() {
  return space::SearchSpace::parse(config_from_yaml(R"(
blocks:
  convolution: [{conv2d: {channels: 4, kernel: 3, bias: false}}, batch_norm]
network:
  - conv2d: {channels: 4, kernel: 3}
  - name: cell
    cell:
      node_1: [input]
      node_2: [input, node_1]
      node_3: [input, node_1, node_2]
    operations: [zero, identity, convolution]
  - global_average_pool
  - linear: {features: $classes}
)",
                                                    "space.yaml", "space"),
                                   {{3, 8, 8}, 10});
}

TEST(SkylineSearch, DoesNotChooseWhatDiffersByABiasAloneFromWhatItTried) {
  WindowedRun run(skyline(cells_space(), objective_set("[{maximize: accuracy}, {minimize: flops}]"), 60), 1,
                  closed_formula);
  std::map<space::ArchId, std::int64_t> cheapest;  // lowest FLOPs of each function
  std::size_t chosen = 0;
  for (const CommittedTrial& trial : run.run(60)) {
    const space::Architecture& architecture = trial.trial.architecture();
    const auto [known, is_new] = cheapest.try_emplace(architecture.function_id(), architecture.cost.flops);
    const bool is_cheaper = architecture.cost.flops < known->second;
    known->second = std::min(known->second, architecture.cost.flops);
    if (trial.trial.proposal.origin.text() != "model") continue;
    ++chosen;
    EXPECT_TRUE(is_new || is_cheaper) << "trial " << trial.trial.number;
  }
  EXPECT_EQ(chosen, 55U);
}

TEST(SkylineSearch, EndsCleanlyWhenTheSpaceIsExhausted) {
  const auto searcher = skyline(archai_space(), archai_objectives(), 1000);
  const std::vector<space::ArchId> ids = ids_of(run_search(*searcher));
  EXPECT_EQ(ids.size(), 151U);
  EXPECT_EQ(std::set<space::ArchId>(ids.begin(), ids.end()).size(), 151U);
  EXPECT_EQ(searcher->finish_reason(), "all 151 valid architectures were evaluated");
  EXPECT_FALSE(searcher->gave_up());
}

TEST(SkylineSearch, AvoidsWhatFails) {
  const Evaluate evaluate = [](const trial::Trial& trial) -> trial::Outcome {
    if (trial.architecture().genotype.choices[3] >= 2) {
      return trial::Failure{trial::FailureKind::kOutOfMemory, "too wide"};
    }
    return steps_from_the_best(trial);
  };
  WindowedRun run(skyline(kernels_space(), objective_set("[{maximize: accuracy}]"), 50, 2), 2, evaluate);
  const std::vector<CommittedTrial> committed = run.run(50);
  const auto failed = std::count_if(committed.begin() + 20, committed.end(), [](const CommittedTrial& trial) {
    return std::holds_alternative<trial::Failure>(trial.outcome);
  });
  EXPECT_LE(failed, 6) << "of 30; half of all networks fail";
  EXPECT_EQ(best_accuracy(committed), 1);
}

TEST(SkylineSearch, TriesLargeNetworksBeforeItKnowsResultsUnlessOneFails) {
  const space::SearchSpace space = kernels_space();
  RandomStream random(1);
  std::vector<std::int64_t> all;
  for (int i = 0; i < 500; ++i) all.push_back(space.build(space.sample(random)).cost.flops);
  std::ranges::sort(all, std::greater<>());
  const auto large = [&](bool first_fails) {
    const Evaluate evaluate = [&](const trial::Trial& trial) -> trial::Outcome {
      if (first_fails && trial.number == 0)
        return trial::Failure{trial::FailureKind::kOutOfMemory, "too large"};
      return steps_from_the_best(trial);
    };
    WindowedRun run(skyline(space, objective_set("[{maximize: accuracy}]"), 10), 8, evaluate);
    std::vector<CommittedTrial> committed = run.run(10);
    committed.erase(committed.begin(), committed.begin() + (first_fails ? 8 : 5));
    return std::ranges::count_if(committed, [&](const CommittedTrial& trial) {
      return trial.trial.architecture().cost.flops >= all[125];  // a quarter, since samples differ
    });
  };
  EXPECT_EQ(large(false), 5);
  EXPECT_LT(large(true), 2);
}

TEST(SkylineSearch, GoesOnWhileAllTrialsFail) {
  const Evaluate fails = [](const trial::Trial&) {
    return trial::Failure{trial::FailureKind::kException, "no"};
  };
  WindowedRun run(skyline(kernels_space(), objective_set("[{maximize: accuracy}]"), 12), 3, fails);
  EXPECT_EQ(run.run(12).size(), 12U);
}

TEST(SkylineSearch, LearnsWhereMeasuredConstraintsAreMet) {
  const auto objectives = objective_set("[{maximize: accuracy}]", "[{latency: [0, 4]}]");
  WindowedRun run(skyline(kernels_space(), objectives, 50, 4), 1, steps_from_the_best);
  const std::vector<CommittedTrial> committed = run.run(50);
  const auto met = [&](std::size_t begin, std::size_t end) {
    std::size_t count = 0;
    for (std::size_t i = begin; i < end; ++i) count += objectives.values(committed[i]) ? 1U : 0U;
    return count;
  };
  EXPECT_GE(met(30, 50), 12U) << "one of nine random networks does";
}

TEST(SkylineSearch, DoesNotGoThroughTheSpaceInItsOrderWhereNothingIsGained) {
  const space::SearchSpace space = archai_space();
  for (const auto& [objectives, constraints] : std::vector<std::pair<std::string, std::string>>{
           {"[{maximize: accuracy, reference: 0, ideal: 0.01}, {minimize: flops}]", "[]"},
           {"[{maximize: accuracy}, {minimize: flops, reference: 1.0e+5, ideal: 1.0e+4}]", "[]"},
           {"[{maximize: accuracy, reference: 0.999, ideal: 1}, {minimize: flops}]", "[]"},
           {"[{maximize: accuracy}, {minimize: flops}]", "[{accuracy: [1.0e+6, 1.0e+7]}]"}}) {
    const objective::ObjectiveSet set = objective_set(objectives, constraints);
    const auto everything =
        make_searcher(config_from_yaml("{algorithm: exhaustive}", "run.yaml", "search"), space, set, 1);
    std::vector<space::ArchId> left = ids_of(run_search(*everything, closed_formula));
    std::size_t first = 0;
    for (const space::ArchId& id : ids_of(run_search(*skyline(space, set, 40), closed_formula))) {
      if (id == left.front()) ++first;
      std::erase(left, id);
    }
    EXPECT_LE(first, 4U) << objectives << " " << constraints;
  }
}

TEST(SkylineSearch, GoesOnWhereAllObjectivesAreComputedAndTheBestIsFound) {
  const auto searcher = skyline(archai_space(), objective_set("[{minimize: flops}]"), 40);
  const std::vector<space::ArchId> ids = ids_of(run_search(*searcher, closed_formula));
  EXPECT_EQ(std::unordered_set<space::ArchId>(ids.begin(), ids.end()).size(), 40U);
}

TEST(SkylineSearch, SearchesASpaceOfOneNetworkWithTrainingValues) {
  const ConfigNode training = config_from_yaml("$rate", "space.yaml", "training.rate");
  const space::SearchSpace space = space::SearchSpace::parse(
      config_from_yaml("{parameters: {rate: {range: [1.0e-4, 1.0], count: 50, log: true}}, network: "
                       "[global_average_pool, {linear: {features: $classes}}]}",
                       "space.yaml", "space"),
      {{1, 4, 4}, 3}, {training});
  const Evaluate evaluate = [](const trial::Trial& trial) {
    return trial::Measurements{{-std::abs(trial.architecture().genotype.choices[0] - 31.0), 0}};
  };
  WindowedRun run(skyline(space, objective_set("[{maximize: accuracy}]"), 20), 1, evaluate);
  double best = -100;
  for (const CommittedTrial& trial : run.run(20)) {
    best = std::max(best, std::get<trial::Measurements>(trial.outcome).values[0]);
  }
  EXPECT_EQ(best, 0);
}

TEST(SkylineSearch, LeavesAThoughtWhenItIsStopped) {
  const auto searcher = skyline(kernels_space(), objective_set("[{maximize: accuracy}]"), 20);
  EXPECT_EQ(searcher->ask(5).state, Answer::State::kBusy);
  searcher->stop();
}

TEST(SkylineSearch, RefusesASpaceWithoutAValidArchitecture) {
  EXPECT_THROW(skyline(archai_space(), objective_set("[{minimize: flops}]", "[{flops: [0, 10]}]"), 5),
               UserError);
}

}  // namespace
}  // namespace skyline::search
