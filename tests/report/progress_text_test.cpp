#include "report/sample_run.hpp"
#include "report/text/progress.hpp"
#include "support/yaml_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

std::string line_of(const testing::SampleRun& run, std::size_t trial, const std::string& host = "") {
  return commit_line(run.committed[trial], run.state(), run.space, run.metrics, host);
}

TEST(ProgressLine, ShowsCountsFrontBestAndTimes) {
  RunStatus status;
  status.done = 37;
  status.expected = 74;
  status.in_flight = 12;
  status.failed = 2;
  status.front = 9;
  status.best = {{"validation_accuracy", 0.98123}, {"flops", 88138}};
  status.elapsed_s = 185;
  status.eta_s = 250;
  EXPECT_EQ(progress_line(status, testing::sample_metrics()),
            "search 37/74 trials · 12 in flight · 2 failed · front 9 · best validation_accuracy 0.9812 · "
            "3:05 elapsed · ETA 4:10");
}

TEST(ProgressLine, LeavesOutWhatIsNotKnownYet) {
  RunStatus status;
  status.expected = 74;
  EXPECT_EQ(progress_line(status, testing::sample_metrics()), "search 0/74 trials · 0:00 elapsed");
}

TEST(CutToColumns, CountsCharactersNotBytes) {
  EXPECT_EQ(cut_to_columns("a · b · c", 100), "a · b · c");
  EXPECT_EQ(cut_to_columns("a · b · c", 5), "a · b");
  EXPECT_EQ(cut_to_columns("a · b · c", 3), "a ·");
  EXPECT_EQ(cut_to_columns("abc", 0), "");
}

TEST(CommitLine, NamesParametersObjectivesPlaceAndTime) {
  const testing::SampleRun run;
  EXPECT_EQ(line_of(run, 1),
            "trial 1 committed: depth=9 kernel=3 width=64 validation_accuracy=0.9812 flops=465.2M front=yes "
            "rank 1 slot 0 4.31 s");
}

TEST(CommitLine, GivesTheReasonOfAFailure) {
  const testing::SampleRun run;
  EXPECT_EQ(
      line_of(run, 3),
      "trial 3 failed: depth=3 kernel=3 width=16 diverged: the loss is NaN at step 12 rank 1 slot 0 4.31 s");
}

TEST(CommitLine, NamesTheHostWhereThereAreSeveral) {
  const testing::SampleRun run;
  EXPECT_EQ(
      line_of(run, 3, "node07"),
      "trial 3 failed: depth=3 kernel=3 width=16 diverged: the loss is NaN at step 12 rank 1 node07 slot "
      "0 4.31 s");
}

/// A run of two trials with 20 parameters; the second one is the first one's child and differs in two.
testing::SampleRun wide_run(std::vector<trial::TrialNumber> parents) {
  std::string space = "parameters:\n";
  std::string network = "network:\n";
  for (int i = 0; i < 20; ++i) {
    const std::string name = "width_of_block_" + std::to_string(i);
    space += "  " + name + ": {choice: [8, 16]}\n";
    network += "  - conv2d: {channels: $" + name + ", kernel: 1}\n";
  }
  network += "  - global_average_pool\n  - linear: {features: $classes}\n";
  testing::SampleRun run;
  run.space = space::SearchSpace::parse(testing::config_from_yaml(space + network, "space.yaml", "space"),
                                        {{1, 8, 8}, 10});
  std::vector<std::uint32_t> choices(20, 0);
  run.committed = {testing::make_trial(run.space, {.number = 0,
                                                   .choices = choices,
                                                   .parameters = 1,
                                                   .flops = 2000,
                                                   .outcome = testing::measured(0.5, 1)})};
  choices[3] = choices[17] = 1;
  run.committed.push_back(testing::make_trial(run.space, {.number = 1,
                                                          .choices = choices,
                                                          .parameters = 1,
                                                          .flops = 3000,
                                                          .outcome = testing::measured(0.6, 1),
                                                          .parents = std::move(parents)}));
  return run;
}

TEST(CommitLine, OfManyParametersNamesWhatDiffersFromTheParent) {
  EXPECT_EQ(line_of(wide_run({0}), 1),
            "trial 1 committed: as trial 0 but width_of_block_3=16 width_of_block_17=16 "
            "validation_accuracy=0.6000 flops=3.000k front=yes rank 1 slot 0 4.31 s");
}

TEST(CommitLine, OfManyParametersWithoutAParentNamesTheFirst) {
  EXPECT_EQ(line_of(wide_run({}), 1),
            "trial 1 committed: width_of_block_0=8 width_of_block_1=8 +18 more "
            "validation_accuracy=0.6000 flops=3.000k front=yes rank 1 slot 0 4.31 s");
}

TEST(CommitLine, NumbersTheRepeatsOfAFullTraining) {
  testing::SampleRun run;
  run.committed[4].trial.proposal.final_repeat = 2;
  EXPECT_THAT(line_of(run, 4),
              ::testing::StartsWith("repeat 2 of final trial 1 committed: validation_accuracy="));
}

TEST(CommitLine, NamesTheFirstTrialOfARepeatWhichIsOnTheFrontByItsMean) {
  testing::SampleRun run;
  run.repeats = 2;
  run.committed.resize(2);
  trial::CommittedTrial repeat = run.committed[1];
  repeat.trial.number = 2;
  repeat.trial.proposal.repeat = 1;
  run.committed.push_back(repeat);
  EXPECT_THAT(line_of(run, 2), ::testing::StartsWith("trial 2 (repeat 1 of 1) committed: depth="));
  EXPECT_THAT(line_of(run, 2), ::testing::HasSubstr("front=yes"));
}

TEST(CommitLine, NamesTheTrialThatIsContinued) {
  testing::SampleRun run;
  run.committed[1].trial.proposal.start = trial::Continue{.from = 0};
  EXPECT_THAT(line_of(run, 1), ::testing::StartsWith("trial 1 (on from 0) committed: depth="));
}

TEST(CommitLine, AddsWhatElseAFullTrainingMeasured) {
  const testing::SampleRun run;
  EXPECT_EQ(line_of(run, 4),
            "final trial 1 committed: validation_accuracy=0.9900 flops=465.2M test_accuracy=0.9700 "
            "latency_ms=4.50 steps=840 front=yes rank 1 slot 0 4.31 s");
}

}  // namespace
}  // namespace skyline::report
