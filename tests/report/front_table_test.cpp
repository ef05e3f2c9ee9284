#include "report/sample_run.hpp"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

TEST(FrontTable, ListsTheFrontBestFirstWithTheTestAccuracyOfItsFullTraining) {
  const testing::SampleRun run;
  EXPECT_EQ(front_table(run.inputs()),
            "trial  arch id           depth  kernel  width  validation_accuracy    flops  parameters  "
            "latency_ms  test_accuracy\n"
            "-----  ----------------  -----  ------  -----  -------------------  -------  ----------  "
            "----------  -------------\n"
            "    1  9999999999999999      9       3     64               0.9812  465.2 M     298.4 k        "
            "4.50         0.9700\n"
            "    0  1111111111111111      1       1     16               0.5000  88.14 k         234       "
            "0.123  out_of_memory\n");
}

TEST(FrontTable, HasNoTestColumnBeforeTheFullTraining) {
  testing::SampleRun run;
  run.committed.resize(4);
  EXPECT_THAT(front_table(run.inputs()), ::testing::Not(::testing::HasSubstr("test_accuracy")));
}

TEST(FrontTable, ShowsADashWhileAMembersFullTrainingIsOutstanding) {
  testing::SampleRun run;
  run.committed.resize(5);
  const std::string text = front_table(run.inputs());
  EXPECT_THAT(text, ::testing::HasSubstr("0.9700\n"));
  EXPECT_THAT(text, ::testing::EndsWith(" -\n"));
}

TEST(FrontTable, SortsAMinimizedFirstObjectiveAscending) {
  testing::SampleRun run;
  const ConfigNode objectives = ConfigNode::make_list(
      {ConfigNode::make_map({{"minimize", ConfigNode::make_scalar("flops", {}), {}}}, {}),
       ConfigNode::make_map({{"maximize", ConfigNode::make_scalar("validation_accuracy", {}), {}}}, {})},
      {});
  run.objectives = objective::ObjectiveSet::parse(objectives, nullptr, run.metrics);
  const std::string text = front_table(run.inputs());
  EXPECT_LT(text.find("1111111111111111"), text.find("9999999999999999"));
}

TEST(FrontTable, ShowsAParameterThatTheNetworkDoesNotUseAsADash) {
  testing::SampleRun run;
  auto architecture = std::make_shared<space::Architecture>(run.committed[0].trial.architecture());
  architecture->used[1] = false;
  run.committed[0].trial.proposal.architecture = architecture;
  EXPECT_THAT(front_table(run.inputs()), ::testing::HasSubstr("1111111111111111      1       -     16"));
}

/// Of a sample run all of whose trials ended like this.
std::string table_of_all(const trial::Outcome& outcome) {
  testing::SampleRun run;
  for (trial::CommittedTrial& committed : run.committed) committed.outcome = outcome;
  return front_table(run.inputs());
}

TEST(FrontTable, SaysWhyTheFrontIsEmpty) {
  EXPECT_EQ(table_of_all(trial::Failure{trial::FailureKind::kException, "x"}),
            "the front is empty: every trial failed (the log says why)\n");
  const double none = std::nan("");
  EXPECT_EQ(table_of_all(trial::Measurements{{none, 1, none, 1}}),
            "the front is empty: no trial has a value for each objective\n");
  EXPECT_EQ(table_of_all(trial::Measurements{{0.5, 1e9, none, 1}}),
            "the front is empty: no trial meets the constraints\n");
  testing::SampleRun run;
  run.committed.clear();
  EXPECT_EQ(front_table(run.inputs()), "the front is empty: no trial is done\n");
}

}  // namespace
}  // namespace skyline::report
