#include "evaluate/table/table_evaluator.hpp"

#include "skyline/core/error.hpp"

#include "evaluate/recording_context.hpp"
#include "support/gzip_text.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <cmath>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::evaluate {
namespace {

using testing::config_from_yaml;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RecordingContext;
using testing::user_error_of;

/// Three edges with three operations: 27 genotypes of fewer architectures.
constexpr const char* kCell = R"(
blocks:
  none: zero
  skip: identity
  conv: {arguments: {channels: }, body: [conv2d: {channels: $channels, kernel: 3, bias: false}]}
network:
  - cell: {a: [input], b: [input, a]}
    operations: [none, skip, conv: {channels: 2}]
  - global_average_pool
  - linear: {features: $classes}
)";
constexpr const char* kEdges = "cell_0.input-a,cell_0.input-b,cell_0.a-b,";
constexpr const char* kAccuracy = "metrics: [{name: accuracy, column: acc}]";
constexpr const char* kNothing = "(nothing was thrown)";  // result of user_error_of without an exception

/// A number of blocks, each with a kernel of its own.
constexpr const char* kBlocks = R"(
parameters: {depth: {choice: [1, 2]}, first: {choice: [1, 3]}, second: {choice: [1, 3]}, bias: {choice: [true, false]}}
network:
  - conv2d: {channels: 4, kernel: $first, bias: $bias}
  - when: $depth == 2
    body: [conv2d: {channels: 8, kernel: $second, bias: $bias}]
  - global_average_pool
  - linear: {features: $classes}
)";

class TableTest : public ::testing::Test {
 protected:
  TableTest() { use(kCell); }
  void use(const char* space) {
    services_.space =
        space::SearchSpace::parse(config_from_yaml(space, "space.yaml", "space"), {{2, 6, 6}, 3});
  }
  void write(const std::string& text) const { std::ofstream(folder_ / "t.csv", std::ios::binary) << text; }
  /// @param text  the table without the columns of the edges in its first row
  void write_cells(const std::string& text) const { write(kEdges + text); }

  ConfigNode section(const std::string& keys) const {
    return config_from_yaml("{file: " + (folder_ / "t.csv").string() + ", " + keys + "}", "run.yaml",
                            "table");
  }
  std::unique_ptr<trial::Evaluator> make(const std::string& keys) const {
    const EvaluatorKind kind = table_kind();
    return kind.make(kind.keys->complete(section(keys)), services_);
  }
  /// Returns the mistake that reading a configuration finds, or else the one that reading the table does.
  /// @param needed  the metrics by which trials are compared
  std::string error_of(const std::string& keys, const std::vector<std::string>& needed = {},
                       const ConfigNode* full_epochs = nullptr, const std::vector<double>& budgets = {},
                       const ConfigNode* budgets_from = nullptr) const {
    const ConfigNode written = section(keys);
    std::string error = user_error_of([&] {
      table_kind().check_place(written, {.space = services_.space,
                                         .space_section = written,
                                         .searched = {},
                                         .needed = needed,
                                         .full_needed = needed,
                                         .full_epochs = full_epochs,
                                         .budgets = budgets,
                                         .budgets_from = budgets_from});
      make(keys);
    });
    const std::string folder = folder_.path().string() + "/";
    for (std::size_t at = 0; (at = error.find(folder)) != std::string::npos;) error.erase(at, folder.size());
    return error;
  }
  std::vector<std::string> described(const std::string& keys) const {
    const EvaluatorKind kind = table_kind();
    return kind.describe(kind.keys->complete(section(keys)), services_);
  }

  /// The trial whose genotype has these places of values.
  trial::Trial trial(std::vector<std::uint32_t> choices, double epochs = 1) const {
    trial::Trial made;
    made.proposal.architecture =
        std::make_shared<const space::Architecture>(services_.space.build({std::move(choices)}));
    made.proposal.budget = made.proposal.horizon = {epochs};
    return made;
  }
  static trial::Outcome outcome(trial::Evaluator& evaluator, const trial::Trial& trial) {
    RecordingContext context;
    return evaluator.evaluate(trial, context);
  }
  static std::vector<double> values(trial::Evaluator& evaluator, const trial::Trial& trial) {
    return std::get<trial::Measurements>(outcome(evaluator, trial)).values;
  }
  static std::string failure(trial::Evaluator& evaluator, const trial::Trial& trial) {
    return std::get<trial::Failure>(outcome(evaluator, trial)).reason;
  }

  testing::ScratchFolder folder_;
  EvaluatorServices services_;
};

TEST_F(TableTest, GivesEachArchitectureTheMeanOfItsRowsOrTheFirst) {
  write_cells("acc\nnone,conv,skip,0.5\nconv,conv,skip,0.9\nnone,conv,skip,0.7\nnone,conv,skip,0.9\n");
  const auto mean = make(kAccuracy);
  EXPECT_DOUBLE_EQ(values(*mean, trial({0, 2, 1}))[0], 0.7);
  EXPECT_EQ(values(*make(std::string("rows: first, ") + kAccuracy), trial({0, 2, 1}))[0], 0.5);
  EXPECT_EQ(values(*mean, trial({2, 2, 1}))[0], 0.9);
  EXPECT_THAT(described(kAccuracy),
              ElementsAre("4 rows, for 2 genotypes",
                          "`acc`: 3 rows share a genotype with others, from whose mean they differ by 0.163 "
                          "(standard deviation), from each other by up to 0.4; their mean counts"));
}

TEST_F(TableTest, FindsAnArchitectureByItsNetworkIfNoRowHasItsParameters) {
  // Convolutions of zeros are zeros, so the last edge does not count where the first is `none`.
  write_cells("acc\nnone,conv,skip,0.5\nconv,conv,skip,0.9\nnone,conv,conv,0.7\n");
  const auto evaluator = make(kAccuracy);
  EXPECT_EQ(values(*evaluator, trial({0, 2, 1}))[0], 0.5);
  EXPECT_EQ(values(*evaluator, trial({0, 2, 2}))[0], 0.7);
  EXPECT_DOUBLE_EQ(values(*evaluator, trial({0, 2, 0}))[0], 0.6);
  EXPECT_EQ(values(*evaluator, trial({2, 2, 1}))[0], 0.9);
}

TEST_F(TableTest, LeavesOutRowsThatAConditionRefuses) {
  use(R"(
parameters: {a: {choice: [1, 2]}, b: {choice: [1, 2, 3]}}
where: $b < 3
network:
  - when: $a == 2
    body: [conv2d: {channels: 4, kernel: $b}]
  - global_average_pool
  - linear: {features: $classes}
)");
  write("a,b,acc\n1,3,0.9\n1,1,0.5\n");
  EXPECT_EQ(values(*make(kAccuracy), trial({0, 0}))[0], 0.5);
  EXPECT_EQ(values(*make(std::string("rows: first, ") + kAccuracy), trial({0, 0}))[0], 0.5);
}

TEST_F(TableTest, AnArchitectureWithoutARowIsAFailedTrial) {
  write_cells("acc\nnone,conv,skip,0.5\n");
  EXPECT_EQ(
      failure(*make(kAccuracy), trial({1, 2, 2})),
      "the table has no row of this architecture: cell_0.input-a=skip cell_0.input-b=conv cell_0.a-b=conv");
}

TEST_F(TableTest, HasColumnsByBudgetAndMetricsOfFullTrainings) {
  write_cells("v12,t200\nnone,conv,skip,50,90\n");
  const std::string metrics =
      "epochs: 12, metrics: [{name: valid, column: {12: v12}, times: 0.01, range: [0, 1], of: validation}, "
      "{name: test, column: {200: t200}, when: full, better: lower, unit: points}]";
  const ConfigNode complete = table_kind().keys->complete(section(metrics));
  const std::vector<trial::Metric> described = table_kind().metrics(complete, {});
  EXPECT_EQ(described[0],
            (trial::Metric{.name = "valid", .range = {0, 1}, .of = trial::Metric::Of::kValidation}));
  EXPECT_EQ(described[1], (trial::Metric{.name = "test",
                                         .better = trial::Better::kLower,
                                         .unit = "points",
                                         .when = trial::Metric::When::kFullTraining}));
  EXPECT_EQ(table_kind().needs(complete).epochs, 12);
  const auto evaluator = make(metrics);
  trial::Trial trial = this->trial({0, 2, 1}, 12);
  EXPECT_EQ(values(*evaluator, trial)[0], 0.5);
  EXPECT_TRUE(std::isnan(values(*evaluator, trial)[1]));
  trial = this->trial({0, 2, 1}, 200);
  EXPECT_THAT(failure(*evaluator, trial), HasSubstr("has no numbers of this architecture for 200 epochs"));
  trial.proposal.trains = trial.number;
  EXPECT_TRUE(std::isnan(values(*evaluator, trial)[0]));
  EXPECT_EQ(values(*evaluator, trial)[1], 90);
}

TEST_F(TableTest, RefusesBudgetsWithoutTheColumnsThatTrialsNeed) {
  write_cells("v12,t12,t200\nnone,conv,skip,50,55,90\n");
  const std::string keys =
      "metrics: [{name: valid, column: {12: v12}}, "
      "{name: test, column: {200: t200, 12: t12}, when: full}]";
  const std::string short_trials = keys + ", epochs: 12";
  EXPECT_EQ(error_of(short_trials, {"valid"}), kNothing);
  EXPECT_THAT(error_of(keys + ", epochs: 5"),
              HasSubstr(": table.epochs: expected 12 or 200, for which a metric has a column, got 5"));
  EXPECT_EQ(error_of(keys),
            "run.yaml:1:1: table: expected 12 or 200, for which a metric has a column, got 1");
  EXPECT_THAT(error_of(keys + ", epochs: 200", {"valid"}),
              HasSubstr(": table.epochs: expected 12, for which `valid` has a column, got 200: trials are "
                        "compared by it"));
  const ConfigNode full = config_from_yaml("200", "run.yaml", "final.epochs");
  EXPECT_EQ(error_of(short_trials, {}, &full), kNothing);
  EXPECT_EQ(error_of(short_trials, {"valid"}, &full),
            "run.yaml:1:1: final.epochs: expected 12, for which `valid` has a column, got 200: trials are "
            "compared by it");
  const ConfigNode neither = config_from_yaml("3", "run.yaml", "final.epochs");
  EXPECT_EQ(error_of(short_trials, {}, &neither),
            "run.yaml:1:1: final.epochs: expected 12 or 200, for which a metric has a column, got 3");
  const ConfigNode rungs = config_from_yaml("[4, 12]", "run.yaml", "search.budgets");
  EXPECT_EQ(error_of(short_trials, {"valid"}, nullptr, {12}, &rungs), kNothing);
  EXPECT_EQ(error_of(short_trials, {"valid"}, nullptr, {4, 12}, &rungs),
            "run.yaml:1:1: search.budgets: expected 12, for which `valid` has a column, got 4: trials are "
            "compared by it");
}

TEST_F(TableTest, RefusesMetricsWithWrongNamesOrBudgets) {
  write_cells("acc,other\nnone,conv,skip,0.5,0.6\n");
  const auto error = [this](const std::string& metrics) { return error_of("metrics: [" + metrics + "]"); };
  EXPECT_THAT(error("{name: accuracy, column: {1: acc, 1.0: other}}"),
              HasSubstr(": table.metrics[0].column: a second column for the budget `1.0`"));
  for (const std::string budget : {".inf", "0", "-1"}) {
    EXPECT_THAT(error("{name: accuracy, column: {" + budget + ": acc}}"),
                HasSubstr(": table.metrics[0].column: expected a budget above 0 epochs, got " + budget));
  }
  EXPECT_THAT(error("{name: accuracy, column: {all: acc}}"),
              HasSubstr(": table.metrics[0].column: expected a number, got all"));
  EXPECT_THAT(error("{name: accuracy, column: acc}, {name: accuracy, column: other}"),
              HasSubstr(": table.metrics[1].name: metric `accuracy` is described twice"));
  for (const std::string name : {"epochs", "seed", "status", "trial", "is_pareto"}) {
    EXPECT_THAT(error("{name: " + name + ", column: acc}"),
                HasSubstr(": table.metrics[0].name: `" + name + "` has a meaning of its own in reports"));
  }
}

TEST_F(TableTest, RefusesNumbersThatAreNotFinite) {
  const std::string two = "metrics: [{name: accuracy, column: acc, times: 1.0e+10}]";
  const auto error = [&](const std::string& cell) {
    write_cells("acc\nnone,conv,none,0.5\nnone,conv,skip," + cell + "\n");
    return error_of(two);
  };
  for (const std::string cell : {"inf", "-inf", "Infinity", "1e999"}) {
    EXPECT_EQ(error(cell), "t.csv:3: column `acc`: expected a finite number, got `" + cell + "`");
  }
  for (const std::string cell : {"1e300", "-1e141"}) {
    EXPECT_EQ(error(cell),
              "t.csv:3: column `acc`: expected at most 1e150, also after `times`, got `" + cell + "`");
  }
  for (const std::string cell : {"", "NA", "nan", "1e139"}) EXPECT_EQ(error(cell), kNothing);
}

TEST_F(TableTest, PredictsTheSecondsOfTheTable) {
  write_cells("acc,s1,s3\nnone,conv,skip,0.5,20,50\nskip,conv,skip,0.5,,\n");
  const auto evaluator = make("seconds: {1: s1, 3: s3}, metrics: [{name: accuracy, column: acc}]");
  EXPECT_EQ(evaluator->predicted_cost(trial({0, 2, 1})), 20);
  trial::Trial continued = trial({0, 2, 1}, 3);
  continued.proposal.start = trial::Continue{.from = 0, .epochs = 1};
  EXPECT_EQ(evaluator->predicted_cost(continued), 30);
  EXPECT_EQ(evaluator->predicted_cost(trial({1, 2, 1})), 1) << "the table has no seconds";
  EXPECT_EQ(evaluator->predicted_cost(trial({2, 2, 2})), 1) << "the table has no row";
  for (const std::string seconds : {"0", "-1"}) {
    write_cells("acc,s1\nnone,conv,skip,0.5," + seconds + "\n");
    EXPECT_EQ(error_of(std::string("seconds: s1, ") + kAccuracy),
              "t.csv:2: column `s1`: expected a number above 0, got `" + seconds + "`");
  }
  for (const std::string none : {"nan", "NaN", "NA", ""}) {
    write_cells("acc,s1\nnone,conv,skip,0.5," + none + "\n");
    EXPECT_EQ(make(std::string("seconds: s1, ") + kAccuracy)->predicted_cost(trial({0, 1, 1})), 1);
  }
  write_cells("acc,s1\nnone,conv,skip,0.5,inf\n");
  EXPECT_EQ(error_of(std::string("seconds: s1, ") + kAccuracy),
            "t.csv:2: column `s1`: expected a finite number, got `inf`");
}

TEST_F(TableTest, ReadsAColumnPerParameterAndLeavesOutUnusedOnes) {
  use(kBlocks);
  write("depth;first;second;bias;acc\n1;3,0;;True;0,5\n2;1;3;False;0,75\n7;1;1;True;0,9\n");
  const auto evaluator = make(kAccuracy);
  EXPECT_EQ(values(*evaluator, trial({0, 1, 0, 0}))[0], 0.5);
  EXPECT_EQ(values(*evaluator, trial({0, 1, 1, 0}))[0], 0.5);
  EXPECT_EQ(values(*evaluator, trial({1, 0, 1, 1}))[0], 0.75);
  EXPECT_THAT(described(kAccuracy),
              ElementsAre("2 rows, for 2 genotypes", HasSubstr("1 row outside of the space, first " +
                                                               (folder_ / "t.csv").string() + ":4: 7, 1")));
  write("depth,first,second,bias,acc\n2,3,,True,0.5\n");
  EXPECT_EQ(error_of(kAccuracy), "t.csv:2: `second` has no value, but the network of this row uses it");
}

TEST_F(TableTest, TellsLargeWholeNumbersApart) {
  use("parameters: {a: {choice: [9007199254740993, 5]}}");
  write("a,acc\n9007199254740992,0.1\n9007199254740993,0.2\n9007199254740994,0.3\n5.0,0.4\n");
  const auto evaluator = make(kAccuracy);
  EXPECT_EQ(values(*evaluator, trial({0}))[0], 0.2);
  EXPECT_EQ(values(*evaluator, trial({1}))[0], 0.4);
}

TEST_F(TableTest, ReadsGzipAndAFileBesideTheConfiguration) {
  write(testing::gzip_text(std::string(kEdges) + "acc\nnone,conv,skip,0.5\n"));
  const ConfigNode beside = config_from_yaml(std::string("{file: t.csv, ") + kAccuracy + "}",
                                             (folder_ / "run.yaml").string(), "table");
  const EvaluatorKind kind = table_kind();
  const ConfigNode complete = kind.keys->complete(beside);
  EXPECT_EQ(complete.at("file").as_text(), (folder_ / "t.csv").string());
  EXPECT_EQ(values(*kind.make(complete, services_), trial({0, 2, 1}))[0], 0.5);
  EXPECT_EQ(first_difference(kind.keys->complete(complete), complete), "");
}

TEST_F(TableTest, RefusesAnotherTableThanTheOneWithWhichARunBegan) {
  const std::string keys = kAccuracy;
  write_cells("acc\nnone,conv,skip,0.5\n");
  const EvaluatorKind kind = table_kind();
  const ConfigNode complete = kind.keys->complete(section(keys));
  write_cells("acc\nnone,conv,skip,0.6\n");
  EXPECT_THAT(user_error_of([&] { kind.keys->complete(complete); }),
              HasSubstr("t.csv is another table than the one with which the run began: its checksum is "));
}

TEST_F(TableTest, RefusesTablesThatDoNotFitWithTheirPlace) {
  const std::string keys = kAccuracy;
  EXPECT_THAT(error_of(keys), HasSubstr("table.file: there is no t.csv, nor is it beside the configuration"));
  write_cells("acc\nnone,conv,skip,high\n");
  EXPECT_EQ(error_of(keys), "t.csv:2: column `acc`: expected a finite number, got `high`");
  write_cells("acc\nnone,conv,skip,0.5\nnone,conv,none,0.5,1\n");
  EXPECT_EQ(error_of(keys), "t.csv:3: expected 4 fields, got 5");
  write_cells("accuracy\nnone,conv,skip,0.5\n");
  EXPECT_EQ(error_of(keys), "t.csv: there is no column `acc`, did you mean `accuracy`?");
  write_cells("acc\npool,conv,skip,0.5\n");
  EXPECT_EQ(error_of(keys),
            "t.csv:2: pool, conv, skip, 0.5: neither this row nor another is a genotype of the space");
  for (const std::string key : {"column", "names"}) {
    const ConfigNode named = section(key + ": cell, " + kAccuracy);
    EXPECT_THAT(user_error_of([&] { table_kind().keys->complete(named); }),
                HasSubstr(": table." + key +
                          ": a table has a column for each parameter now: scripts/nasbench201_table makes it "
                          "of the names of NAS-Bench-201; of a run with names only the results can be read"));
  }
}

}  // namespace
}  // namespace skyline::evaluate
