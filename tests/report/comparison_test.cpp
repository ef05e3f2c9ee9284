#include "report/compare/comparison.hpp"

#include "report/compare/volume_curve.hpp"
#include "report/sample_run.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <list>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ComparisonTest : public ::testing::Test {
 protected:
  /// A run whose trials have these accuracies, all at 5 M FLOPs: half the way from 50 k to 500 M.
  void add(const std::string& algorithm, int seed, const std::vector<double>& accuracies) {
    testing::SampleRun sample;
    sample.objectives = objectives_;
    sample.committed.resize(1);
    const trial::CommittedTrial first = sample.committed.front();
    sample.committed.clear();
    for (const double accuracy : accuracies) {
      trial::CommittedTrial trial = first;
      auto architecture = std::make_shared<space::Architecture>(first.trial.architecture());
      architecture->cost.flops = 5'000'000;
      trial.trial.proposal.architecture = architecture;
      trial.trial.number = sample.committed.size();
      trial.outcome = testing::measured(accuracy, 1);
      sample.committed.push_back(trial);
    }
    opened_.emplace_back().state = sample.state();
    const std::string window = algorithm == "random" ? ", window: 8" : "";  // follows from the algorithm
    const std::string text = "{run: {seed: " + std::to_string(seed) + window +
                             "}, search: {algorithm: " + algorithm +
                             (algorithm == "random" ? "" : ", initial: 6") + "}}";
    runs_.push_back(
        {&opened_.back(), testing::config_from_yaml(text), "runs/" + std::to_string(runs_.size())});
  }

  objective::ObjectiveSet objectives_ = testing::sample_objectives();
  std::list<run::OpenedRun> opened_;
  std::vector<ComparedRun> runs_;
};

TEST_F(ComparisonTest, GroupsRunsThatDifferInTheirSeedAlone) {
  add("evolution_pareto", 1, {0.5, 0.6});
  add("random", 1, {0.4});
  add("evolution_pareto", 2, {0.7});
  const Comparison comparison = compare_runs(runs_);
  ASSERT_EQ(comparison.groups.size(), 2U);
  EXPECT_EQ(comparison.groups[0].name, "search.algorithm=evolution_pareto");
  EXPECT_THAT(comparison.groups[0].runs, ElementsAre(0, 2));
  EXPECT_EQ(comparison.groups[1].name, "search.algorithm=random");
  EXPECT_THAT(comparison.groups[1].runs, ElementsAre(1));
}

TEST_F(ComparisonTest, ComparesAfterAsManyTrialsAsAllRunsHave) {
  add("random", 1, {0.5, 0.6, 0.9});
  add("random", 2, {0.2, 0.4});
  const Comparison comparison = compare_runs(runs_);
  EXPECT_EQ(comparison.trials, 2U);
  EXPECT_EQ(comparison.groups[0].name, "all runs");
  ASSERT_EQ(comparison.quantities.size(), 2U);
  EXPECT_EQ(comparison.quantities[0].name, "hypervolume");
  EXPECT_THAT(comparison.quantities[0].values, ElementsAre(DoubleNear(0.3, 1e-12), DoubleNear(0.2, 1e-12)));
  EXPECT_EQ(comparison.quantities[1].name, "best validation_accuracy");
  EXPECT_THAT(comparison.quantities[1].values, ElementsAre(0.6, 0.4));
  EXPECT_DOUBLE_EQ(comparison.quantities[1].means[0].value, 0.5);
}

TEST_F(ComparisonTest, MeasuresThreeObjectivesAfterThatManyTrialsOfLongerRunsToo) {
  const auto three = testing::config_from_yaml(
      "[{maximize: validation_accuracy}, {minimize: flops, reference: 500000000, ideal: 50000}, "
      "{minimize: latency_ms, reference: 5}]");
  objectives_ = objective::ObjectiveSet::parse(three, nullptr, testing::sample_metrics());
  std::vector<double> accuracies;
  for (int trial = 1; trial <= 601; ++trial) accuracies.push_back(trial / 1000.0);
  add("random", 1, accuracies);  // its curve has every second trial
  accuracies.resize(301);
  add("random", 2, accuracies);
  const Comparison comparison = compare_runs(runs_);
  const std::vector<double>& volumes = comparison.quantities[0].values;
  EXPECT_GT(volumes[0], 0);
  EXPECT_DOUBLE_EQ(volumes[0], volumes[1]);
}

TEST_F(ComparisonTest, WritesMeansAndTestsAsTextAndCsv) {
  for (int seed = 1; seed <= 3; ++seed) {
    add("evolution_pareto", seed, {0.8 + 0.01 * seed});
    add("random", seed, {0.6 + 0.01 * seed});
  }
  const Comparison comparison = compare_runs(runs_);
  const std::string text = comparison_text(comparison);
  EXPECT_THAT(text, StartsWith("6 runs in 2 groups, compared after the first 1 trial of each search\n"));
  EXPECT_THAT(text, HasSubstr("0.4100  0.3976 to 0.4224"));
  EXPECT_THAT(text, ::testing::ContainsRegex(
                        "hypervolume +search.algorithm=evolution_pareto +search.algorithm=random +9 +0.1\n"));
  const std::string csv = comparison_csv(comparison);
  EXPECT_THAT(csv, StartsWith("quantity,group,against,runs,mean,low,high,u,p\n"
                              "hypervolume,search.algorithm=evolution_pareto,,3,0.41"));
  EXPECT_THAT(csv,
              HasSubstr("hypervolume,search.algorithm=evolution_pareto,search.algorithm=random,,,,,9,0.1\n"));
  EXPECT_THAT(curves_csv(comparison), StartsWith("run,group,trial,hypervolume\n"
                                                 "runs/0,search.algorithm=evolution_pareto,1,0.405"));
}

TEST_F(ComparisonTest, SaysThatThereIsNoVolumeAndComparesTheRest) {
  objectives_ = objective::ObjectiveSet::parse(
      testing::config_from_yaml("[{maximize: validation_accuracy}, {minimize: steps}]"), nullptr,
      testing::sample_metrics());
  add("random", 1, {0.5});
  const std::string text = comparison_text(compare_runs(runs_));
  EXPECT_THAT(text, HasSubstr("no hypervolume: `steps` has no reference point"));
  EXPECT_THAT(text, HasSubstr("best validation_accuracy"));
}

TEST_F(ComparisonTest, RefusesRunsThatDoNotCompare) {
  add("random", 1, {0.5});
  add("random", 1, {0.5});
  EXPECT_EQ(
      testing::user_error_of([&] { compare_runs(runs_); }),
      "runs/1 is the same run as runs/0, configuration and seed 1: expected runs with seeds of their own");
  runs_.pop_back();
  objectives_ = objective::ObjectiveSet::parse(
      testing::config_from_yaml(
          "[{maximize: validation_accuracy}, {minimize: flops, reference: 9, scale: linear}]"),
      nullptr, testing::sample_metrics());
  add("random", 2, {0.5});
  EXPECT_THAT(
      testing::user_error_of([&] { compare_runs(runs_); }),
      StartsWith(
          "runs/1 measures `flops` from 9 to 0 (linear), runs/0 from 500000000 to 50000 (log): expected "
          "one space"));
  runs_.erase(runs_.begin());
  add("random", 3, {});
  EXPECT_EQ(testing::user_error_of([&] { compare_runs(runs_); }), "runs/1 has no trial yet");
}

TEST_F(ComparisonTest, TheCurveOfTheVolumeNeverFalls) {
  add("random", 1, {0.5, 0.1, 0.6, 0.6, 0.2});
  EXPECT_THAT(
      volume_curve(opened_.back().state),
      ElementsAre(0.25, 0.25, DoubleNear(0.3, 1e-12), DoubleNear(0.3, 1e-12), DoubleNear(0.3, 1e-12)));
}

TEST_F(ComparisonTest, EndsThatAreUnknownAreTheValuesThatWereSeen) {
  objectives_ = objective::ObjectiveSet::parse(testing::config_from_yaml("[{minimize: time}]"), nullptr,
                                               {{.name = "time", .better = trial::Better::kLower}}, false);
  add("random", 1, {0.5, 0.1, 0.3});
  EXPECT_THAT(compare_runs(runs_).curves, ElementsAre(ElementsAre()));
  const Comparison comparison = compare_runs(runs_, UnknownEnds::kSeen);
  EXPECT_THAT(comparison.seen, ElementsAre("time"));
  EXPECT_THAT(comparison.curves, ElementsAre(ElementsAre(0.0, 1.0, 1.0)));
  EXPECT_THAT(curves_csv(comparison, UnknownEnds::kSeen),
              StartsWith("run,group,trial,hypervolume,seen\nruns/0,all runs,1,0,time\n"));
  EXPECT_TRUE(comparison.quantities.front().name != "hypervolume");
}

TEST_F(ComparisonTest, AnObjectiveWithOneValueHasNoVolume) {
  objectives_ = objective::ObjectiveSet::parse(testing::config_from_yaml("[{minimize: time}]"), nullptr,
                                               {{.name = "time", .better = trial::Better::kLower}}, false);
  add("random", 1, {0.5, 0.5});
  EXPECT_THAT(compare_runs(runs_, UnknownEnds::kSeen).curves, ElementsAre(ElementsAre()));
}

}  // namespace
}  // namespace skyline::report
