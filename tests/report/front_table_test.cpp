#include "report/text/front_table.hpp"

#include "report/sample_run.hpp"
#include "support/yaml_config.hpp"
#include "trial/refit.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

TEST(FrontTable, ListsTheFinalFrontAndThenTheRestOfTheSearchsWithTheBudgetOfEachColumn) {
  const testing::SampleRun run;
  EXPECT_EQ(front_table(run.inputs()),
            "trial  arch id           depth  kernel  width  validation_accuracy  validation_accuracy    "
            "flops  parameters  latency_ms  latency_ms  test_accuracy  final front\n"
            "                                                        0.5 epochs            10 epochs         "
            "              0.5 epochs   10 epochs      10 epochs\n"
            "-----  ----------------  -----  ------  -----  -------------------  -------------------  "
            "-------  ----------  ----------  ----------  -------------  ---------------------\n"
            "    1  9999999999999999      9       3     64               0.9812               0.9900  465.2 "
            "M     298.4 k        4.50        4.50         0.9700  yes\n"
            "-----  ----------------  -----  ------  -----  -------------------  -------------------  "
            "-------  ----------  ----------  ----------  -------------  ---------------------\n"
            "    0  1111111111111111      1       1     16               0.5000                    -  88.14 "
            "k         "
            "234       0.123           -              -  failed: out_of_memory\n");
}

TEST(FrontTable, NamesTheTrainingThatDominatesAMemberOfTheSearchsFront) {
  testing::SampleRun run;
  run.committed[5].outcome = trial::Measurements{{0.991, 0.1, 0.98, 840}};
  EXPECT_THAT(front_table(run.inputs()),
              ::testing::ContainsRegex("    1  9999999999999999 .* dominated by 0\n$"));
  run.committed[4].outcome = trial::Measurements{{0.99, 6, 0.97, 840}};
  EXPECT_THAT(front_table(run.inputs()), ::testing::EndsWith("  breaks a constraint, or lacks a value\n"));
}

TEST(FrontTable, ShowsMeanAndDeviationOfRepeatedFullTrainings) {
  testing::SampleRun run;
  trial::CommittedTrial repeat = run.committed[4];
  repeat.trial.proposal.final_repeat = 1;
  repeat.outcome = trial::Measurements{{0.97, 4.5, 0.97, 840}};
  run.committed.push_back(repeat);
  EXPECT_THAT(front_table(run.inputs()), ::testing::HasSubstr("  0.9800 (0.0141)  "));
  EXPECT_THAT(front_table(run.inputs()), ::testing::HasSubstr("  0.9700 (0.0000)  yes"));
}

TEST(FrontTable, ShowsFurtherMetricsOfTheTestSetWhereThereIsRoom) {
  testing::SampleRun run;
  run.metrics[3] = {
      .name = "test_macro_f1", .when = trial::Metric::When::kFullTraining, .of = trial::Metric::Of::kTest};
  EXPECT_THAT(front_table(run.inputs()),
              ::testing::HasSubstr("  test_accuracy  test_macro_f1  final front\n"));
  const std::string narrow = front_table(run.inputs(), {.columns = 128});
  EXPECT_THAT(narrow, ::testing::AllOf(::testing::HasSubstr("macro_f1"),
                                       ::testing::Not(::testing::HasSubstr("arch id"))));
  EXPECT_THAT(front_table(run.inputs(), {.columns = 60}), ::testing::Not(::testing::HasSubstr("macro_f1")));
}

TEST(FrontTable, ShowsTheTestMetricOfARefitBesideThatOfTheComparison) {
  testing::SampleRun run;
  EXPECT_THAT(front_table(run.inputs()), ::testing::Not(::testing::HasSubstr("refit")));
  trial::CommittedTrial refit = run.committed[4];
  refit.trial.proposal.final_repeat = trial::kRefit;
  refit.outcome = trial::Measurements{{std::nan(""), 4.5, 0.9876, 1000}};
  run.committed.push_back(refit);
  EXPECT_THAT(front_table(run.inputs()),
              ::testing::ContainsRegex("test_accuracy  test_accuracy  final front\n.* refit *\n"));
  EXPECT_THAT(front_table(run.inputs()), ::testing::ContainsRegex("\n +1 .*  0\\.9876  yes\n"));
  run.metrics[3] = {.name = "int8_test_accuracy",
                    .when = trial::Metric::When::kFullTraining,
                    .of = trial::Metric::Of::kTest};
  run.committed.back().outcome = trial::Measurements{{std::nan(""), 4.5, 0.9876, 0.9765}};
  EXPECT_THAT(front_table(run.inputs()),
              ::testing::ContainsRegex("  int8_test_accuracy  int8_test_accuracy  final front\n"));
  EXPECT_THAT(front_table(run.inputs()), ::testing::ContainsRegex("\n +1 .*  0\\.9765  yes\n"));
  EXPECT_THAT(
      front_footnotes(run.inputs()),
      ::testing::HasSubstr("Refit: all of the final front were trained once more, on training and validation "
                           "samples; export and predict take these weights"));
}

TEST(FrontTable, ShowsAMetricOfTheTestSetOnceIfItIsAConstraint) {
  testing::SampleRun run;
  run.metrics[1].of = trial::Metric::Of::kTest;  // latency_ms, of the search and of the full training
  const std::string text = front_table(run.inputs());
  EXPECT_THAT(text, ::testing::ContainsRegex("  latency_ms  latency_ms  test_accuracy  final front\n"));
}

TEST(FrontTable, HasNoTestColumnBeforeTheFullTraining) {
  testing::SampleRun run;
  run.committed.resize(4);
  EXPECT_THAT(front_table(run.inputs()), ::testing::Not(::testing::HasSubstr("test_accuracy")));
}

TEST(FrontTable, ShowsDashesWhileAMembersFullTrainingIsOutstanding) {
  testing::SampleRun run;
  run.committed.resize(5);
  const std::string text = front_table(run.inputs());
  EXPECT_THAT(text, ::testing::HasSubstr("0.9700  yes\n"));
  EXPECT_THAT(text, ::testing::EndsWith("  -              -  not trained yet\n"));
}

TEST(FrontTable, TellsHowManyRowsItLeavesOut) {
  testing::SampleRun run;
  run.committed.resize(4);
  const std::string all = front_table(run.inputs());
  EXPECT_EQ(front_table(run.inputs(), {.rows = 2}), all);
  const std::string first = front_table(run.inputs(), {.rows = 1});
  EXPECT_THAT(first, ::testing::EndsWith("\nand 1 more\n"));
  EXPECT_THAT(all, ::testing::StartsWith(first.substr(0, first.find("and 1 more"))));
  EXPECT_THAT(front_table(run.inputs(), {.rows = 1, .rows_with = "`x` shows all"}),
              ::testing::EndsWith("\nand 1 more: `x` shows all\n"));
  EXPECT_EQ(front_table(run.inputs(), {.rows = 2, .rows_with = "`x` shows all"}), all);
}

TEST(FrontTable, FitsItsColumnsAndLeavesOutWhatDoesNotDifferFirst) {
  testing::SampleRun run;
  run.committed.resize(4);
  EXPECT_EQ(front_table(run.inputs(), {.columns = 73, .columns_with = "show"}),
            "                             validation_                       latency_\n"
            "trial  depth  kernel  width     accuracy    flops  parameters        ms\n"
            "-----  -----  ------  -----  -----------  -------  ----------  --------\n"
            "    1      9       3     64       0.9812  465.2 M     298.4 k      4.50\n"
            "    0      1       1     16       0.5000  88.14 k         234     0.123\n"
            "without 1 column: show\n");
}

TEST(FrontTable, SortsAMinimizedFirstObjectiveAscending) {
  testing::SampleRun run;
  const ConfigNode objectives = ConfigNode::make_list(
      {ConfigNode::make_map({{"minimize", ConfigNode::make_scalar("flops", {}), {}}}, {}),
       ConfigNode::make_map({{"maximize", ConfigNode::make_scalar("validation_accuracy", {}), {}}}, {})},
      {});
  run.objectives = objective::ObjectiveSet::parse(objectives, nullptr, run.metrics);
  run.committed.resize(4);
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

/// Returns the table of a sample run in which all trials ended like this.
std::string table_of_all(const trial::Outcome& outcome) {
  testing::SampleRun run;
  for (trial::CommittedTrial& committed : run.committed) committed.outcome = outcome;
  return front_table(run.inputs());
}

TEST(FrontTable, SaysWhyTheFrontIsEmpty) {
  EXPECT_EQ(table_of_all(trial::Failure{trial::FailureKind::kException, "x"}),
            "the front is empty: every trial failed, most often as exception (4 of 4): x\n");
  const double none = std::nan("");
  EXPECT_EQ(table_of_all(trial::Measurements{{none, 1, none, 1}}),
            "the front is empty: no trial has a value for each objective\n");
  EXPECT_EQ(
      table_of_all(trial::Measurements{{0.5, 9, none, 1}}),
      "the front is empty: no trial meets the constraints; `latency_ms: [0, 5]`: they have 9.00 to 9.00\n");
  testing::SampleRun run;
  run.committed.clear();
  EXPECT_EQ(front_table(run.inputs()), "the front is empty: no trial is done\n");
}

TEST(FrontTable, NamesTheUsualFailureWhereNoTrialHasItsFullBudget) {
  testing::SampleRun run;
  for (std::size_t i = 0; i < 3; ++i) run.committed[i].trial.proposal.horizon = {8};
  EXPECT_EQ(
      no_front_reason(run.inputs()),
      "no trial ended well with its full budget; some failed, most often as diverged (1 of 1): the loss "
      "is NaN at step 12");
}

TEST(FrontTable, CountsTheFailuresThatDifferInNumbersAlone) {
  testing::SampleRun run;
  const auto fail = [&](std::size_t trial, trial::FailureKind kind, const std::string& reason) {
    run.committed[trial].outcome = trial::Failure{kind, reason};
  };
  fail(0, trial::FailureKind::kProgram, "exit code 1: KeyError: 'a'");
  fail(1, trial::FailureKind::kProgram, "exit code 1: ValueError: depth 2 is not for me");
  fail(2, trial::FailureKind::kProgram, "exit code 1: ValueError: depth 11 is not for me");
  EXPECT_EQ(
      no_front_reason(run.inputs()),
      "every trial failed, most often as program (2 of 4): exit code 1: ValueError: depth 2 is not for me");
}

TEST(FrontTable, TellsTrialsOutsideOfConstraintsFromFailedOnes) {
  const trial::Measurements outside{.values = {},
                                    .extent = trial::Extent::kOutside,
                                    .reason = "`board_ms` is 9, and its constraint [0, 5]"};
  EXPECT_EQ(
      table_of_all(outside),
      "the front is empty: no trial was trained, because each broke a constraint before, the first one: "
      "`board_ms` is 9, and its constraint [0, 5]\n");
  testing::SampleRun run;
  for (trial::CommittedTrial& committed : run.committed) committed.outcome = outside;
  run.committed[1].outcome = trial::Failure{trial::FailureKind::kException, "x"};
  EXPECT_EQ(no_front_reason(run.inputs()),
            "every trial that was trained failed, most often as exception (1 of 1): x");
}

TEST(FrontTable, SaysWhyTheFinalFrontIsEmpty) {
  testing::SampleRun run;
  run.committed[4].outcome = run.committed[5].outcome;
  EXPECT_EQ(no_final_front_reason(run.inputs()),
            "every full training failed, most often as out_of_memory (2 of 2): no room for \"conv2d_0\"");
}

TEST(VolumeText, TellsTheVolumesOfBothFrontsAndBetweenWhichEndsTheyAreMeasured) {
  testing::SampleRun run;
  EXPECT_EQ(volume_text(run.state()),
            "hypervolume 0.4730 of the search, 0.0078 of the final front (of 1), measured from "
            "validation_accuracy 0, flops 500.0 M to 50.00 k (log)");
  run.committed.resize(4);
  EXPECT_EQ(volume_text(run.state()),
            "hypervolume 0.4730 (of 1), measured from validation_accuracy 0, flops 500.0 M to 50.00 k (log)");
}

TEST(VolumeText, NamesTheMetricsThatHaveNoReferencePoint) {
  testing::SampleRun run;
  run.objectives =
      objective::ObjectiveSet::parse(testing::config_from_yaml("[{minimize: steps}]"), nullptr, run.metrics);
  EXPECT_EQ(volume_text(run.state()),
            "no hypervolume: `steps` has no reference point; give a `range` where the metric is declared, a "
            "constraint, or `reference` and `ideal` in the objective");
}

TEST(VolumeText, NamesMetricsThatHaveNeitherEndOnce) {
  testing::SampleRun run;
  run.metrics[1] = {.name = "loss", .better = trial::Better::kLower};
  run.metrics[3] = {.name = "score"};
  run.objectives = objective::ObjectiveSet::parse(
      testing::config_from_yaml("[{maximize: score}, {minimize: loss}]"), nullptr, run.metrics);
  EXPECT_EQ(
      volume_text(run.state()),
      "no hypervolume: `score`, `loss` have no reference points and no best possible values; give a `range` "
      "where the metric is declared, a constraint, or `reference` and `ideal` in the objective");
}

TEST(VolumeText, NamesTheMetricsThatHaveNoBestValue) {
  testing::SampleRun run;
  run.objectives = objective::ObjectiveSet::parse(
      testing::config_from_yaml("[{maximize: steps, reference: 2}]"), nullptr, run.metrics);
  EXPECT_EQ(
      volume_text(run.state()),
      "no hypervolume: `steps` has no best possible value; give a `range` where the metric is declared, a "
      "constraint, or `reference` and `ideal` in the objective");
}

}  // namespace
}  // namespace skyline::report
