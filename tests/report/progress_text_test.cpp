#include "report/sample_run.hpp"
#include "report/text/progress.hpp"

#include <gtest/gtest.h>

namespace skyline::report {
namespace {

std::string line_of(const testing::SampleRun& run, std::size_t trial, const std::string& host = "") {
  return commit_line(run.committed[trial], run.state().on_front(run.committed[trial].trial.number),
                     run.objectives, run.space, run.metrics, host);
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

TEST(CommitLine, AddsWhatElseAFullTrainingMeasured) {
  const testing::SampleRun run;
  EXPECT_EQ(line_of(run, 4),
            "final trial 1 committed: depth=9 kernel=3 width=64 validation_accuracy=0.9900 flops=465.2M "
            "latency_ms=4.50 test_accuracy=0.9700 steps=840 front=yes rank 1 slot 0 4.31 s");
}

}  // namespace
}  // namespace skyline::report
