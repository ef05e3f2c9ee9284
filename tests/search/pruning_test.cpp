#include "search/pruning_bars.hpp"
#include "search/search_run.hpp"
#include "support/user_error_of.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using skyline::testing::config_from_yaml;
using skyline::testing::objective_set;
using skyline::testing::user_error_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Accuracy has a course, the latency is measured after the training.
std::vector<trial::Metric> metrics() {
  return {{.name = "accuracy", .has_course = true}, {.name = "latency", .better = trial::Better::kLower}};
}

StepComparison comparison(const std::string& objectives) {
  return {objective_set(objectives), metrics()};
}

/// A committed trial of so many FLOPs with these accuracies after the steps 1, 3, ...
trial::CommittedTrial trial_with(const std::vector<double>& accuracies, std::int64_t flops = 0) {
  constexpr std::int64_t kSteps[] = {1, 3, 9};
  space::Architecture architecture;
  architecture.cost.flops = flops;
  trial::CommittedTrial committed;
  committed.trial.proposal.architecture = std::make_shared<const space::Architecture>(architecture);
  trial::Measurements measured{{0.5, 1}};
  for (std::size_t i = 0; i < accuracies.size(); ++i)
    measured.steps.push_back({kSteps[i], {accuracies[i], kNoValue}});
  committed.outcome = std::move(measured);
  return committed;
}

/// Bars after the step 1 alone, of these accuracies.
std::vector<double> bar_of(const PruningOptions& options, const std::vector<double>& accuracies) {
  PruningBars bars(options, comparison("[maximize: accuracy]"));
  for (const double accuracy : accuracies) bars.tell(trial_with({accuracy}));
  return bars.bars().front().points;
}

TEST(PruningBars, OfOneObjectiveAreAQuantile) {
  const PruningOptions half{.at = {1}, .keep = 0.5, .least = 4};
  EXPECT_THAT(bar_of(half, {0.1, 0.4, 0.2, 0.3}), ElementsAre(-0.3));
  EXPECT_THAT(bar_of(half, {0.1, 0.4, 0.2, 0.3, 0.5}), ElementsAre(-0.3));
  EXPECT_THAT(bar_of({.at = {1}, .keep = 0.1, .least = 4}, {0.1, 0.4, 0.2, 0.3}), ElementsAre(-0.4));
  EXPECT_THAT(bar_of({.at = {1}, .keep = 0.9, .least = 4}, {0.1, 0.4, 0.2, 0.3}), ElementsAre(-0.1));
  EXPECT_THAT(bar_of(half, {0.4, 0.4, 0.4, 0.1}), ElementsAre(-0.4)) << "equal ones are one point";
}

TEST(PruningBars, AreEmptyUntilEnoughValuesAreKnown) {
  const PruningOptions options{.at = {1, 3}, .keep = 0.5, .least = 3};
  PruningBars bars(options, comparison("[maximize: accuracy]"));
  bars.tell(trial_with({0.1, 0.2}));
  bars.tell(trial_with({0.2, kNoValue}));
  EXPECT_THAT(bars.bars()[0].points, IsEmpty());
  bars.tell(trial_with({0.3}));
  EXPECT_THAT(bars.bars()[0].points, ElementsAre(-0.2));
  EXPECT_THAT(bars.bars()[1].points, IsEmpty()) << "NaN is no value";
  EXPECT_EQ(bars.bars()[1].step, 3);
}

TEST(PruningBars, CountPrunedTrialsAndNeitherFailuresNorFullTrainings) {
  PruningBars bars({.at = {1}, .keep = 0.5, .least = 2}, comparison("[maximize: accuracy]"));
  trial::CommittedTrial failed = trial_with({0.1});
  failed.outcome = trial::Failure{};
  trial::CommittedTrial full = trial_with({0.2});
  full.trial.proposal.trains = 0;
  trial::CommittedTrial pruned = trial_with({0.3});
  std::get<trial::Measurements>(pruned.outcome).extent = trial::Extent::kPruned;
  for (const auto& told : {failed, full, pruned}) bars.tell(told);
  EXPECT_THAT(bars.bars()[0].points, IsEmpty());
  bars.tell(trial_with({0.4}));
  EXPECT_THAT(bars.bars()[0].points, ElementsAre(-0.4));
}

/// The bar of accuracies after the step 1 of trials with these latencies, of which at most 5 are allowed.
std::vector<double> bar_below_5(bool pruned, const std::vector<std::pair<double, double>>& trials) {
  const auto objectives = objective_set("[maximize: accuracy]", "[latency: [0, 5], accuracy: [0.5, 1]]");
  PruningBars bars({.at = {1}, .keep = 0.5, .least = 2}, {objectives, metrics()});
  for (const auto& [accuracy, latency] : trials) {
    trial::CommittedTrial told = trial_with({accuracy});
    std::get<trial::Measurements>(told.outcome).values = {pruned ? accuracy : 0.5, latency};
    std::get<trial::Measurements>(told.outcome).extent =
        pruned ? trial::Extent::kPruned : trial::Extent::kWhole;
    bars.tell(told);
  }
  return bars.bars().front().points;
}

TEST(PruningBars, LeaveOutTrialsThatBreakAConstraint) {
  const std::vector<std::pair<double, double>> trials = {{0.1, 1}, {0.9, 6}, {0.8, 7}, {0.2, 5}};
  EXPECT_THAT(bar_below_5(false, trials), ElementsAre(-0.2));
  EXPECT_THAT(bar_below_5(true, trials), ElementsAre(-0.2))
      << "a training may still reach an accuracy of 0.5";
  EXPECT_THAT(bar_below_5(true, {{0.1, kNoValue}, {0.2, kNoValue}}), ElementsAre(-0.2)) << "nothing is known";
  EXPECT_THAT(bar_below_5(false, {{0.1, kNoValue}, {0.2, kNoValue}}), IsEmpty());
}

TEST(PruningBars, OfTwoObjectivesAreTheFrontAtTheBorder) {
  PruningBars bars({.at = {1}, .keep = 0.5, .least = 4},
                   comparison("[{maximize: accuracy}, {minimize: flops}, {minimize: latency}]"));
  bars.tell(trial_with({0.9}, 50));
  bars.tell(trial_with({0.8}, 60));
  bars.tell(trial_with({0.5}, 20));
  bars.tell(trial_with({0.4}, 30));
  bars.tell(trial_with({0.1}, 90));
  const std::vector<trial::PruningBar>& found = bars.bars();
  EXPECT_THAT(found[0].points, ElementsAre(-0.8, 60, -0.4, 30)) << "2 of 5 are before, 4 with it";
}

TEST(PruningBars, KeepTheExtremesOfALargeFront) {
  PruningBars bars({.at = {1}, .keep = 0.5, .least = 4},
                   comparison("[{maximize: accuracy}, {minimize: flops}]"));
  for (int i = 1; i <= 500; ++i) bars.tell(trial_with({i / 1000.0}, i));
  const std::vector<double> points = bars.bars()[0].points;
  EXPECT_EQ(points.size(), 2 * 64U);
  EXPECT_THAT(points, ::testing::Contains(-0.5));
  EXPECT_THAT(points, ::testing::Contains(-0.001));
}

TEST(StepComparison, ATrialFallsBehindIfAPointDominatesIt) {
  const StepComparison compare = comparison("[{maximize: accuracy}, {minimize: flops}]");
  EXPECT_THAT(compare.reported(), ElementsAre("accuracy"));
  const trial::PruningBar bar{1, {-0.8, 60, -0.4, 30}};
  const auto falls_behind = [&](double accuracy, std::int64_t flops) {
    space::Architecture architecture;
    architecture.cost.flops = flops;
    return compare.falls_behind(bar, architecture, {accuracy, kNoValue});
  };
  EXPECT_TRUE(falls_behind(0.7, 60));
  EXPECT_TRUE(falls_behind(0.4, 31));
  EXPECT_FALSE(falls_behind(0.8, 60)) << "equal";
  EXPECT_FALSE(falls_behind(0.1, 20)) << "cheaper than all";
  EXPECT_FALSE(falls_behind(0.5, 40)) << "between";
  EXPECT_FALSE(falls_behind(kNoValue, 99));
  EXPECT_FALSE(compare.falls_behind({1, {}}, {}, {0, kNoValue})) << "too few are known";
}

TEST(StepComparison, LeavesOutObjectivesThatOnlyWholeTrialsHave) {
  EXPECT_THAT(comparison("[{maximize: accuracy}, {minimize: flops}]").left_out(), IsEmpty());
  EXPECT_THAT(comparison("[{maximize: accuracy}, {minimize: latency}]").left_out(), ElementsAre("latency"));
}

TEST(StepComparison, MeasuresNothingIfAllIsMeasuredAfterTheTraining) {
  EXPECT_THAT(comparison("[{minimize: latency}, {minimize: flops}]").reported(), IsEmpty());
}

std::string refused(const std::string& pruning, const std::string& search = "algorithm: random\ntrials: 20") {
  return user_error_of([&] {
    const ConfigNode section = config_from_yaml("pruning: " + pruning + "\n" + search, "run.yaml", "search");
    const Algorithm& algorithm = algorithm_of(section);
    check_pruning(section, algorithm.keys->complete(section), algorithm, {9});
  });
}

/// A trial whose accuracy grows with the epochs; a bad one is pruned after the first.
trial::Outcome growing(const trial::Trial& trial) {
  auto measured = std::get<trial::Measurements>(skyline::testing::closed_formula(trial));
  const double accuracy = measured.values[0];
  measured.steps = {{1, {0.5 * accuracy, kNoValue}}, {3, {0.8 * accuracy, kNoValue}}};
  if (accuracy < 0.45) {
    measured.extent = trial::Extent::kPruned;
    measured.steps.pop_back();
    measured.values = measured.steps.back().values;
  }
  return measured;
}

TEST(AModelThatChoosesTrials, LearnsTheValuesAfterDeclaredSteps) {
  const objective::ObjectiveSet accuracy = objective_set("[maximize: accuracy]");
  const auto run = [&](const std::string& pruning) {
    const ConfigNode section =
        config_from_yaml("algorithm: skyline\ntrials: 30\n" + pruning, "run.yaml", "search");
    return skyline::testing::WindowedRun(
               make_searcher(section, skyline::testing::archai_space(), accuracy, 1, {9}), 3, growing)
        .run();
  };
  const std::vector<trial::CommittedTrial> with = run("pruning: {at: [1, 3]}");
  ASSERT_EQ(with.size(), 30U);
  std::size_t pruned = 0;
  for (const trial::CommittedTrial& one : with) pruned += trial::is_whole(one.outcome) ? 0U : 1U;
  EXPECT_GT(pruned, 1U);
  EXPECT_LT(pruned, 12U) << "it learns where bad ones are";
  const auto ids = [](const std::vector<trial::CommittedTrial>& trials) {
    std::vector<space::ArchId> all;
    for (const trial::CommittedTrial& one : trials) all.push_back(one.trial.architecture().id);
    return all;
  };
  EXPECT_EQ(ids(run("pruning: {at: [1, 3]}")), ids(with));
}

TEST(PruningOptions, AreRefusedWhereTheyMakeNoSense) {
  EXPECT_EQ(
      refused("{at: [3, 1]}"),
      "run.yaml:1:15: search.pruning.at: expected at most 16 numbers of epochs, each above the one before, "
      "got a list of 2");
  EXPECT_EQ(refused("{at: [0, 1]}"),
            "run.yaml:1:16: search.pruning.at[0]: expected a whole number from 1 to 1000000000, got 0");
  EXPECT_EQ(refused("{keep: 0.5}"), "run.yaml:1:10: search.pruning: missing key `at`");
  EXPECT_EQ(refused("{at: [1, 9]}"),
            "run.yaml:1:15: search.pruning.at: expected epochs before the last of a trial, 9, got 9");
  EXPECT_EQ(refused("{at: [1], keep: 1}"),
            "run.yaml:1:26: search.pruning.keep: expected a number above 0 and below 1, got 1");
  EXPECT_EQ(refused("{at: [1], least: 1}"),
            "run.yaml:1:27: search.pruning.least: expected a whole number from 2 to 1000, got 1");
  EXPECT_EQ(
      refused("{at: [1]}", "algorithm: mo_asha"),
      "run.yaml:1:10: search.pruning: not with rungs, which end trials in their own way (`search.budgets`, "
      "`algorithm: mo_asha`)");
  EXPECT_EQ(refused("{at: [1]}", "algorithm: skyline\nrepeats: 2"),
            "run.yaml:1:10: search.pruning: not with `search.repeats`");
}

TEST(PruningOptions, AreWrittenOnlyWhereTheyAreGiven) {
  const ConfigNode without = config_from_yaml("algorithm: random");
  const Algorithm& random = algorithm_of(without);
  EXPECT_EQ(random.keys->complete(without).find("pruning"), nullptr);
  EXPECT_FALSE(pruning_of(without).has_value());
  const ConfigNode with = random.keys->complete(config_from_yaml("algorithm: random\npruning: {at: [1, 3]}"));
  EXPECT_EQ(with.at("pruning").at("least").as_text(), "8");
  EXPECT_THAT(pruning_of(with)->at, ElementsAre(1, 3));
}

}  // namespace
}  // namespace skyline::search
