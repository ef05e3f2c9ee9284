#include "evaluate/table/benchmark_rows.hpp"

#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::evaluate {
namespace {

using testing::config_from_yaml;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::user_error_of;

/// Returns the columns of parameters in a table.
std::vector<std::string> parameter_columns_of(const std::string& parameters,
                                              const std::vector<std::string>& header,
                                              const std::vector<std::string>& metrics = {"m"}) {
  std::string text = "parameters: {";
  for (const char letter : parameters) text += letter == ' ' ? ": {range: [0, 9]}, " : std::string(1, letter);
  const auto space =
      space::SearchSpace::parse(config_from_yaml(text + ": {range: [0, 9]}}", "space.yaml", "space"), {});
  return parameter_columns_in(header, space, metrics);
}

TEST(ParameterColumns, HaveTheNamesThatARunGaveThem) {
  const auto header = [](std::vector<std::string> own) {
    std::vector<std::string> all{"archid", "arch_id", "trial"};
    all.insert(all.end(), own.begin(), own.end());
    for (const char* last : {"origin", "epochs", "cost", "is_pareto", "status", "mean_repeats", "mean_m"})
      all.emplace_back(last);
    return all;
  };
  EXPECT_THAT(parameter_columns_of("epochs w", header({"parameter_epochs", "w", "m"})),
              ElementsAre("parameter_epochs", "w"));
  EXPECT_THAT(parameter_columns_of("epochs w", header({"w", "m"})), ElementsAre("parameter_epochs", "w"))
      << "the run has no such parameter, which its epochs are not";
  EXPECT_THAT(parameter_columns_of("m w", header({"parameter_m", "w", "m"})),
              ElementsAre("parameter_m", "w"));
  EXPECT_THAT(parameter_columns_of("other w", header({"parameter_other", "w", "m", "other"})),
              ElementsAre("parameter_other", "w"))
      << "a metric that this search does not need";
  EXPECT_THAT(parameter_columns_of("mean_m w", header({"parameter_mean_m", "w", "m"})),
              ElementsAre("parameter_mean_m", "w"));
  EXPECT_THAT(parameter_columns_of("status parameter_status w",
                                   header({"parameter_parameter_status", "parameter_status", "w", "m"})),
              ElementsAre("parameter_parameter_status", "parameter_status", "w"));
  EXPECT_THAT(parameter_columns_of("x", header({"x", "parameter_x"}), {"parameter_x"}), ElementsAre("x"));
  EXPECT_THAT(parameter_columns_of("step w", header({"step", "w", "m"})), ElementsAre("step", "w"));
  EXPECT_THAT(parameter_columns_of("epochs w", {"epochs", "w", "parameter_epochs", "m"}),
              ElementsAre("epochs", "w"))
      << "no table of a run";
}

TEST(BenchmarkRows, OfTrialsLeaveOutThoseThatFailedAndNumbersThatAreTooLarge) {
  const auto space = space::SearchSpace::parse(
      config_from_yaml("parameters: {a: {choice: [1, 2]}, word: {choice: [\" x\", x, \"\"]}}", "space.yaml",
                       "space"),
      {});
  const testing::ScratchFolder folder;
  const auto write = [&](const std::string& text) {
    std::ofstream(folder / "t.csv", std::ios::binary) << text;
  };
  write(R"(a,word,acc,status
" 1 "," x",0.5,ok
2, x,1e151,ok
wrong,x,?,diverged
2,,-inf," ok"
1,x,7,
)");
  const std::string file = (folder / "t.csv").string();
  const std::vector<NumberColumn> acc{{.name = "acc"}};
  const BenchmarkRows rows = read_rows(file, space, acc, RowSource::kTrials);
  EXPECT_EQ(rows.failed, 2U);
  EXPECT_EQ(rows.outside, 0U);
  EXPECT_THAT(rows.choices, ElementsAre(0, 0, 1, 1, 1, 2));
  ASSERT_EQ(rows.values.size(), 3U);
  EXPECT_EQ(rows.values[0], 0.5);
  EXPECT_TRUE(std::isnan(rows.values[1]));
  EXPECT_TRUE(std::isnan(rows.values[2]));
  EXPECT_THAT(user_error_of([&] { (void)read_rows(file, space, acc); }),
              HasSubstr("t.csv:3: column `acc`: expected at most 1e150, also after `times`, got `1e151`"));
  const auto formulas = space::SearchSpace::parse(
      config_from_yaml("parameters: {word: {choice: [x, \"=1+1\"]}}", "space.yaml", "space"), {});
  write("word,acc\n'=1+1,1\n=1+1,2\n'x,3\n");  // the first as in search_state.csv
  EXPECT_THAT(read_rows(file, formulas, acc).choices, ElementsAre(1, 1, 0));
  const auto endless = space::SearchSpace::parse(
      config_from_yaml("parameters: {p: {choice: [1.0, .inf]}}", "space.yaml", "space"), {});
  write("p,acc\n1.0,1\n2.0,2\ninf,3\n");
  EXPECT_THAT(read_rows(file, endless, acc).choices, ElementsAre(0, 1));
  write("a,word,acc,state\n1,x,1,TrialState.COMPLETE\n1,x,1,PRUNED\n2,x,1,Finished\n");
  EXPECT_EQ(read_rows(file, space, acc, RowSource::kTrials).lines, (std::vector<std::size_t>{2, 4}));
  write("params_a,word,acc\n1,x,1\n");
  EXPECT_THAT(user_error_of([&] { (void)read_rows(file, space, acc); }),
              HasSubstr("t.csv: there is no column `a`: rename `params_a` to `a`"));
  write("a,word,acc,status\n1,x,?,crash\n");
  EXPECT_THAT(user_error_of([&] { (void)read_rows(file, space, acc, RowSource::kTrials); }),
              HasSubstr("t.csv: by the column `status` no row ended well: expected ok or complete"));
  write("a,word,acc,epochs\n1,x,1,3\n");
  const std::vector<NumberColumn> with_epochs{{.name = "acc"}, {.name = "epochs", .may_lack = true}};
  EXPECT_THAT(read_rows(file, space, with_epochs).values, ElementsAre(1, 3));
  write("a,word,acc\n1,x,1\n");
  EXPECT_THAT(read_rows(file, space, with_epochs).columns, ElementsAre("acc"));
}

TEST(BenchmarkRows, MayHaveAnyTextWhereAParameterIsNotUsed) {
  const auto space = space::SearchSpace::parse(
      config_from_yaml("parameters: {optimizer: {choice: [adam, sgd]}, momentum: {choice: [0.5, 0.9], when: "
                       "$optimizer == sgd}, steps: {choice: [1, 2], when: $momentum > 0.5}}",
                       "space.yaml", "space"),
      {});
  const testing::ScratchFolder folder;
  std::ofstream(folder / "t.csv") << "optimizer,momentum,steps,acc\nadam,0,-,1\nsgd,0,1,2\nsgd,0.9,2,3\n"
                                     "sgd,0.5,-,4\nsgd,0.9,-,5\nlion,0.9,1,6\n";
  const BenchmarkRows rows = read_rows((folder / "t.csv").string(), space, {{.name = "acc"}});
  EXPECT_THAT(rows.values, ElementsAre(1, 3, 4));
  EXPECT_THAT(rows.genotype(0).choices, ElementsAre(0, 0, 0));
  EXPECT_EQ(rows.outside, 3U);
}

TEST(BenchmarkRows, OfARunTakeNoCostForAParameterOfItsName) {
  const auto space = space::SearchSpace::parse(
      config_from_yaml("parameters: {flops: {choice: [1, 2]}}", "space.yaml", "space"), {});
  const testing::ScratchFolder folder;
  std::ofstream(folder / "t.csv") << "archid,arch_id,trial,flops,acc,origin,status\n0,a,0,2,0.5,random,ok\n";
  const std::string file = (folder / "t.csv").string();
  const auto error =
      user_error_of([&] { (void)read_rows(file, space, {{.name = "acc"}}, RowSource::kTrials, {"flops"}); });
  EXPECT_THAT(error, HasSubstr("there is no column `parameter_flops`"));
}

}  // namespace
}  // namespace skyline::evaluate
