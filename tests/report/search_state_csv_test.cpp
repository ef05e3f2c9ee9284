#include "report/files/search_state_csv.hpp"

#include "report/python_output.hpp"
#include "report/sample_run.hpp"
#include "support/yaml_config.hpp"
#include "trial/trial_fields.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

using ::testing::ElementsAre;

// SHA-1 of the Python texts (1.0, 1.0, 16.0) and (9.0, 3.0, 64.0), by Python's hashlib.
constexpr const char* kArchaiId0 = "e93feda07c620ff5cd6abff6734ce757580f75f5";
constexpr const char* kArchaiId1 = "00499976e367af150716d050c76b2ce013f77d0b";

/// The file as Python's readers see it.
nlohmann::json read_by_python(const std::filesystem::path& path) {
  return nlohmann::json::parse(testing::python_output("read_search_state.py", path.string()), nullptr, false);
}

/// The file of the sample run, read once: Python and pandas take a second to start.
class SearchStateCsv : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    testing::SampleRun run;
    run.committed[2].trial.proposal.start = trial::Inherit{.from = 1, .architecture = nullptr, .share = 0.75};
    trial::CommittedTrial repeat = run.committed[4];
    repeat.trial.proposal.final_repeat = 1;
    repeat.outcome = trial::Measurements{{0.5, 4.5, 0.72, 840}};
    run.committed.push_back(repeat);
    const testing::SampleFolder folder;
    write_search_state_csv(folder.paths(), run.inputs());
    seen_ = read_by_python(folder.paths().search_state_csv());
  }
  /// Compares some cells of a row.
  static void expect_row(std::size_t row, const std::map<std::string, std::string>& cells) {
    for (const auto& [name, text] : cells) EXPECT_EQ(seen_.at("rows").at(row).at(name), text) << name;
  }
  static inline nlohmann::json seen_;
};

TEST_F(SearchStateCsv, ReadsBackInPandasWithArchaisColumns) {
  EXPECT_THAT(
      seen_.at("columns").get<std::vector<std::string>>(),
      ElementsAre("archid", "arch_id", "trial", "depth", "kernel", "width", "validation_accuracy", "flops",
                  "parameters", "latency_ms", "macs", "peak_activation_bytes", "training_activation_bytes",
                  "weight_bytes", "origin", "iteration_num", "parent", "parents", "inherited_from",
                  "inherited_share", "continued_from", "epochs", "horizon", "members", "repeat", "cost",
                  "seed", "search_walltime_hours", "is_pareto", "status", "is_final_pareto", "final_epochs",
                  "final_repeats", "final_validation_accuracy", "final_validation_accuracy_deviation",
                  "final_latency_ms", "final_latency_ms_deviation", "final_test_accuracy",
                  "final_test_accuracy_deviation"));
  const std::vector<std::string> of_this_run{
      "depth",       "kernel",     "width", "validation_accuracy",   "flops",
      "parameters",  "latency_ms", "macs",  "peak_activation_bytes", "training_activation_bytes",
      "weight_bytes"};
  for (const auto& column : seen_.at("columns").get<std::vector<std::string>>()) {
    const bool is_own = std::ranges::count(of_this_run, column) > 0 || column.starts_with("final_v") ||
                        column.starts_with("final_l") || column.starts_with("final_t");
    EXPECT_NE(trial::is_column_name(column), is_own)
        << column << ": a metric of this name would be mistaken for it";
  }
  const nlohmann::json& types = seen_.at("types");
  EXPECT_EQ(types.at("is_pareto"), "bool");
  EXPECT_EQ(types.at("iteration_num"), "int64");
  EXPECT_EQ(types.at("flops"), "int64");
  EXPECT_EQ(types.at("validation_accuracy"), "float64");
  EXPECT_EQ(seen_.at("seeds")[0], 18446744073709551615U);
}

TEST_F(SearchStateCsv, HasARowForEachSearchTrialAndNoneForFullTraining) {
  EXPECT_EQ(seen_.at("rows").size(), 4U);
  expect_row(1, {{"archid", kArchaiId1},
                 {"arch_id", "9999999999999999"},
                 {"depth", "9"},
                 {"validation_accuracy", "0.98125"},
                 {"flops", "465200000"},
                 {"macs", "232600000"},
                 {"latency_ms", "4.5"},
                 {"is_pareto", "True"},
                 {"epochs", "0.5"},
                 {"status", "ok"},
                 {"parent", ""}});
}

TEST_F(SearchStateCsv, HasMeanAndDeviationOfTheRepeatsOfAFullTraining) {
  expect_row(1, {{"is_final_pareto", "True"},
                 {"final_epochs", "10"},
                 {"final_repeats", "2"},
                 {"final_validation_accuracy", "0.745"},
                 {"final_latency_ms_deviation", "0"},
                 {"final_test_accuracy", "0.845"}});
  EXPECT_EQ(seen_.at("rows").at(1).at("final_test_accuracy_deviation").get<std::string>().substr(0, 6),
            "0.1767");
  expect_row(0, {{"is_final_pareto", "False"}, {"final_repeats", "1"}, {"final_test_accuracy", ""}});
  expect_row(2, {{"is_final_pareto", "False"}, {"final_repeats", ""}, {"final_test_accuracy", ""}});
}

TEST_F(SearchStateCsv, NamesOneParentOrTwoByArchaisIds) {
  expect_row(0, {{"archid", kArchaiId0}});
  expect_row(2, {{"parent", kArchaiId0}, {"parents", ""}});
  expect_row(3, {{"parent", ""}, {"parents", std::string(kArchaiId0) + "," + kArchaiId1}});
}

TEST_F(SearchStateCsv, LeavesWhatDoesNotApplyEmpty) {
  expect_row(2, {{"inherited_from", "1"}, {"inherited_share", "0.75"}, {"continued_from", ""}});
  expect_row(0, {{"inherited_from", ""}, {"inherited_share", ""}});
}

TEST_F(SearchStateCsv, KeepsAFailedTrialWithItsCostsAndWithoutMeasurements) {
  expect_row(
      3, {{"status", "diverged"}, {"validation_accuracy", ""}, {"flops", "100000"}, {"is_pareto", "False"}});
}

TEST_F(SearchStateCsv, GivesAllTrialsOfAnIterationTheTimeOfItsEnd) {
  // Iteration 0 ends with trial 1, at 36 + 4.31 s; iteration 1 with trial 3, at 108 + 4.31 s.
  expect_row(0, {{"search_walltime_hours", "0.011197"}});
  expect_row(1, {{"search_walltime_hours", "0.011197"}});
  expect_row(2, {{"search_walltime_hours", "0.031197"}});
  expect_row(3, {{"iteration_num", "1"}});
}

TEST_F(SearchStateCsv, QuotesCommasQuotesAndLineEndsAndRenamesAParameterThatHasAColumnsName) {
  testing::SampleRun run;
  run.space = space::SearchSpace::parse(
      testing::config_from_yaml("parameters:\n"
                                "  width: {choice: [16, 32]}\n"
                                "  seed: {choice: [same, 'a \"b\", c', \"two\\nlines\"]}\n"
                                "network:\n"
                                "  - conv2d: {channels: $width, kernel: 1, padding: $seed}\n"
                                "  - global_average_pool\n"
                                "  - linear: {features: $classes}\n",
                                "space.yaml", "space"),
      {{1, 8, 8}, 10});
  // Only the first padding builds; the texts of the others are what this is about.
  auto architecture = std::make_shared<space::Architecture>(run.space.build({{1, 0}}));
  architecture->genotype.choices = {1, 1};
  auto other = std::make_shared<space::Architecture>(run.space.build({{0, 0}}));
  other->genotype.choices = {0, 2};
  other->used = {false, true};
  run.committed.resize(2);
  run.committed[0].trial.proposal.architecture = architecture;
  run.committed[1].trial.proposal.architecture = other;

  const testing::SampleFolder folder;
  write_search_state_csv(folder.paths(), run.inputs());
  const nlohmann::json rows = read_by_python(folder.paths().search_state_csv()).at("rows");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("width"), "32");
  EXPECT_EQ(rows[0].at("parameter_seed"), "a \"b\", c");
  EXPECT_EQ(rows[1].at("width"), "");
  EXPECT_EQ(rows[1].at("parameter_seed"), "two\nlines");
  EXPECT_EQ(rows[1].at("seed"), "18446744073709551614");
}

TEST(CsvLine, KeepsSpreadsheetsFromCalculatingTextAndLeavesNumbers) {
  EXPECT_EQ(csv_line({"=1+1", "+1+1", "-x", "@SUM(1)", "=a,b"}), "'=1+1,'+1+1,'-x,'@SUM(1),\"'=a,b\"\n");
  EXPECT_EQ(csv_line({"-1", "-2.5e-07", "+1", "-", "+", "a=b", "", "x-1"}), "-1,-2.5e-07,+1,-,+,a=b,,x-1\n");
}

TEST(CsvLine, QuotesBlanksAtTheEndsOfAField) {
  EXPECT_EQ(csv_line({" x", "y ", "  ", "", "a b"}), "\" x\",\"y \",\"  \",,a b\n");
}

/// Returns the metric that clashes and the column, with the word of the means.
std::string clash_of(const std::string& first, const std::string& second, bool has_full, bool has_repeats) {
  const space::SearchSpace space = space::SearchSpace::parse(
      testing::config_from_yaml("parameters: {a: {range: [0, 9]}}", "space.yaml", "space"), {});
  const std::vector<trial::Metric> metrics{{.name = first}, {.name = second}};
  const auto objectives = objective::ObjectiveSet::parse(
      testing::config_from_yaml("[maximize: " + first + ", minimize: " + second + "]", "run.yaml",
                                "objectives"),
      nullptr, metrics, false);
  const auto clash = find_column_clash(objectives, metrics, has_full, has_repeats);
  if (!clash) return "";
  return clash->metric + " " + clash->column + (clash->is_of_full_trainings ? " full" : " repeats");
}

TEST(ColumnClash, IsBetweenAMetricAndAMeanWhereThereAreMeans) {
  for (const std::string ending : {"y", "y_deviation", "repeats"}) {
    EXPECT_EQ(clash_of("mean_" + ending, "y", false, true),
              "mean_" + ending + " mean_" + ending + " repeats");
    EXPECT_EQ(clash_of("y", "mean_" + ending, true, false), "");
    if (ending == "repeats") continue;  // no metric may be called final_repeats
    EXPECT_EQ(clash_of("y", "final_" + ending, true, false),
              "final_" + ending + " final_" + ending + " full");
    EXPECT_EQ(clash_of("final_" + ending, "y", false, true), "");
  }
  EXPECT_EQ(clash_of("y", "y_deviation", false, true), "y_deviation mean_y_deviation repeats");
  EXPECT_EQ(clash_of("y_deviation", "y", true, false), "y_deviation final_y_deviation full");
  EXPECT_EQ(clash_of("y", "repeats", true, true), "repeats final_repeats full");
  EXPECT_EQ(clash_of("y", "repeats", false, true), "repeats mean_repeats repeats");
  EXPECT_EQ(clash_of("y", "repeats", false, false), "");
  EXPECT_EQ(clash_of("y", "z", true, true), "");
}

}  // namespace
}  // namespace skyline::report
