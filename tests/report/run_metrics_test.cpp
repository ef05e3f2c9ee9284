#include "report/sample_run.hpp"
#include "report/tracking/tracking.hpp"
#include "support/yaml_config.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

/// Commits one trial after the other.
class Committing {
 public:
  explicit Committing(objective::ObjectiveSet objectives) : state_(std::move(objectives)) {}
  TrackedTrial commit(trial::CommittedTrial trial, double unix_s = 0) {
    trial.position = state_.trials().size();
    const run::Commit commit{std::make_shared<const trial::CommittedTrial>(std::move(trial))};
    state_.add(commit);
    return {commit, state_, unix_s};
  }

 private:
  run::RunState state_;
};

std::vector<std::map<std::string, double>> metrics_of(const testing::SampleRun& run) {
  RunMetrics metrics(run.objectives, run.metrics);
  Committing committing(run.objectives);
  std::vector<std::map<std::string, double>> records;
  for (const auto& committed : run.committed) {
    const MetricRecord record = metrics.record(committing.commit(committed, 1.5));
    EXPECT_EQ(record.step, records.size());
    EXPECT_EQ(record.unix_s, 1.5);
    auto& values = records.emplace_back();
    for (const auto& named : record.values) {
      EXPECT_TRUE(values.emplace(named.name, named.value).second) << named.name << " is there twice";
    }
  }
  return records;
}

TEST(RunMetrics, HasTheTrialsOwnValuesAndHowTheRunStands) {
  const testing::SampleRun run;
  const auto records = metrics_of(run);
  EXPECT_EQ(records[0].at("trial/flops"), 88138);
  EXPECT_EQ(records[0].at("trial/validation_accuracy"), 0.5);
  EXPECT_EQ(records[0].at("trial/epochs"), 0.5);
  EXPECT_EQ(records[1].at("front/size"), 2);
  EXPECT_EQ(records[1].at("best/validation_accuracy"), 0.98125);
  EXPECT_EQ(records[1].at("best/flops"), 88138);
  EXPECT_EQ(records[1].at("run/failed_trials"), 0);
}

TEST(RunMetrics, EndsWithTheHypervolumeOfTheResults) {
  const testing::SampleRun run;
  const double volume = run.state().volume().value();
  EXPECT_NEAR(metrics_of(run).back().at("front/hypervolume"), volume, 1e-9 * volume);
}

std::optional<double> volume_of(const MetricRecord& record) {
  for (const auto& named : record.values) {
    if (named.name == "front/hypervolume") return named.value;
  }
  return std::nullopt;
}

TEST(RunMetrics, LeavesTheVolumeOfALargeFrontOfThreeObjectivesOut) {
  const testing::SampleRun run;
  const ConfigNode three = testing::config_from_yaml(
      "[{maximize: validation_accuracy}, {minimize: latency_ms, reference: 1000}, {minimize: steps, "
      "reference: 9}]");
  const auto objectives = objective::ObjectiveSet::parse(three, nullptr, run.metrics);
  RunMetrics metrics(objectives, run.metrics);
  Committing committing(objectives);
  const auto on_front = [&](std::uint64_t number) {
    trial::CommittedTrial committed = run.committed[0];
    committed.trial.number = number;
    const auto x = static_cast<double>(number);
    committed.outcome = trial::Measurements{{x / 1000, x, 0.5, 1}};
    return committed;
  };
  for (std::uint64_t number = 0; number < 299; ++number) committing.commit(on_front(number));
  EXPECT_TRUE(volume_of(metrics.record(committing.commit(on_front(299)))));
  EXPECT_FALSE(volume_of(metrics.record(committing.commit(on_front(300)))));
}

TEST(RunMetrics, LeavesTheVolumeOutWhereAnObjectiveHasNoReference) {
  testing::SampleRun run;
  const ConfigNode objectives =
      testing::config_from_yaml("[{maximize: validation_accuracy}, {minimize: steps}]");
  run.objectives = objective::ObjectiveSet::parse(objectives, nullptr, run.metrics);
  for (const auto& values : metrics_of(run)) EXPECT_FALSE(values.contains("front/hypervolume"));
}

TEST(RunMetrics, AFailedTrialHasNoValuesButCounts) {
  const testing::SampleRun run;
  const auto records = metrics_of(run);
  EXPECT_FALSE(records[3].contains("trial/flops"));
  EXPECT_TRUE(records[3].contains("trial/seconds"));
  EXPECT_EQ(records[3].at("run/failed_trials"), 1);
  EXPECT_EQ(records[5].at("run/failed_trials"), 2);
}

TEST(RunMetrics, FullTrainingIsAGroupOfItsOwnAndChangesNoFront) {
  const testing::SampleRun run;
  const auto records = metrics_of(run);
  EXPECT_TRUE(records[4].contains("final/test_accuracy"));
  EXPECT_FALSE(records[4].contains("trial/flops"));
  EXPECT_EQ(records[4].at("front/size"), records[2].at("front/size"));
  EXPECT_EQ(records[4].at("best/validation_accuracy"), records[2].at("best/validation_accuracy"));
}

TEST(RunMetrics, LeavesOutWhatWasNotMeasuredOrIsInfinite) {
  testing::SampleRun run;
  run.committed[0].outcome = trial::Measurements{
      {0.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 3}};
  const auto records = metrics_of(run);
  EXPECT_FALSE(records[0].contains("trial/latency_ms"));
  EXPECT_FALSE(records[0].contains("trial/test_accuracy"));
  EXPECT_EQ(records[0].at("trial/steps"), 3);
}

}  // namespace
}  // namespace skyline::report
