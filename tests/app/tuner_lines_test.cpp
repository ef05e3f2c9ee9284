#include "app/tuner/tuner_lines.hpp"

#include "skyline/core/error.hpp"

#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using testing::config_from_yaml;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::user_error_of;

space::SearchSpace mixed_space() {
  return space::SearchSpace::parse(
      config_from_yaml(
          "{parameters: {width: {choice: [16, 32]}, rate: {choice: [0.1, 1.0e-5]}, norm: {choice: "
          "[batch, null, true, '7']}}}",
          "space.yaml", "space"),
      {});
}

const std::vector<trial::Metric>& metrics() {
  static const std::vector<trial::Metric> all{{.name = "loss", .range = {.low = 0}}, {.name = "size"}};
  return all;
}

objective::ObjectiveSet objectives(const std::vector<trial::Metric>& given = {}) {
  const ConfigNode constraints = config_from_yaml("[{size: [-.inf, 9]}]", "c.yaml", "constraints");
  return objective::ObjectiveSet::parse(
      config_from_yaml("[{minimize: loss}, {maximize: size}]", "o.yaml", "objectives"), &constraints,
      metrics(), false, given);
}

trial::CommittedTrial result_of(const space::Genotype& genotype, trial::Outcome outcome) {
  trial::CommittedTrial result;
  result.trial.proposal.architecture =
      std::make_shared<const space::Architecture>(mixed_space().build(genotype));
  result.outcome = std::move(outcome);
  return result;
}

SamplerRequest request(const std::string& line) {
  return read_request(line, mixed_space(), metrics(), {"loss", "size"});
}

TEST(TunerLines, AreObjectsOfJsonInOneLine) {
  EXPECT_EQ(task_line({mixed_space(), objectives(), 7, 100}),
            R"({"space":{"width":[16,32],"rate":[0.1,1e-05],"norm":["batch",null,true,"7"]},)"
            R"("objectives":[{"minimize":"loss"},{"maximize":"size"}],"constraints":[{"size":[null,9.0]}],)"
            R"("computed":[],"seed":7,"trials":100})"
            "\n");
  EXPECT_THAT(task_line({mixed_space(), objectives({{.name = "area"}, {.name = "params"}}), 7, 100}),
              HasSubstr(R"("computed":["area","params"])"));
  const std::vector<space::Genotype> recorded{{{1, 0, 1}}};
  EXPECT_EQ(question_line({.count = 1, .seed = 5, .first = 3}, mixed_space()),
            "{\"ask\":1,\"seed\":5,\"first\":3}\n");
  EXPECT_EQ(question_line({.count = 1, .seed = 5, .first = 3}, mixed_space(), &recorded),
            R"({"ask":1,"seed":5,"first":3,"answer":[{"width":32,"rate":0.1,"norm":null}]})"
            "\n");
  EXPECT_EQ(answer_line({recorded, true}, 3, mixed_space()),
            R"({"answer":[{"width":32,"rate":0.1,"norm":null}],"first":3,"done":true})"
            "\n");
  EXPECT_EQ(told_line(4), "{\"told\":4}\n");
  EXPECT_EQ(error_line("no `x`"), "{\"error\":\"no `x`\"}\n");
}

TEST(TunerLines, TellValuesAndFailures) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(
      result_line(4, result_of({{0, 1, 2}}, trial::Measurements{{0.5, nan}}), mixed_space(), objectives()),
      R"({"tell":{"trial":4,"parameters":{"width":16,"rate":1e-05,"norm":true},)"
      R"("values":{"loss":0.5,"size":null}}})"
      "\n");
  EXPECT_THAT(result_line(4,
                          result_of({{0, 1, 2}}, trial::Measurements{.values = {0.5, nan},
                                                                     .extent = trial::Extent::kPruned}),
                          mixed_space(), objectives()),
              HasSubstr(R"("values":{"loss":0.5,"size":null},"pruned":true})"));
  const trial::Failure failure{trial::FailureKind::kProgram, "said \"no\"\xff"};
  EXPECT_EQ(result_line({}, result_of({{0, 1, 0}}, failure), mixed_space(), objectives()),
            "{\"tell\":{\"trial\":null,\"parameters\":{\"width\":16,\"rate\":1e-05,\"norm\":\"batch\"},"
            "\"failed\":\"said \\\"no\\\"\xef\xbf\xbd\"}}\n");
}

TEST(TunerLines, AnswersAreReadByTheValuesOfTheSpace) {
  const search::TunerAnswer answer = read_answer(
      R"({"answer": [{"width": 32.0, "rate": 0.00001, "norm": null}, {"norm": "7", "rate": 0.1, "width": 16}], "more": 1})",
      mixed_space());
  EXPECT_FALSE(answer.is_done);
  ASSERT_EQ(answer.genotypes.size(), 2U);
  EXPECT_THAT(answer.genotypes[0].choices, ElementsAre(1, 1, 1));
  EXPECT_THAT(answer.genotypes[1].choices, ElementsAre(0, 0, 3));
  EXPECT_TRUE(read_answer(R"({"answer": [], "done": true})", mixed_space()).is_done);
}

TEST(TunerLines, AnswersThatAreNoneAreRefused) {
  const std::vector<std::pair<std::string, std::string>> mistakes{
      {"{", "expected an object of JSON in one line, got `{`"},
      {"[]", "expected an object of JSON"},
      {std::string(200'000, '['), "expected an object of JSON"},
      {"{}", "missing member `answer`"},
      {R"({"answer": {}})", "answer: expected a list of proposals, got {}"},
      {R"({"answer": [], "done": 1})", "done: expected true or false, got 1"},
      {R"({"answer": [7]})", "expected the parameters of a trial by name, got `7`"},
      {R"({"answer": [{"widht": 16}]})", "the space has no parameter `widht`, did you mean `width`?"},
      {R"({"answer": [{"width": 16}]})", "lacks the parameter `rate`"},
      {R"({"answer": [{"width": true, "rate": 0.1, "norm": null}]})",
       "`width`: expected one of its 2 values, 16, 32, got `true`"},
      {R"({"answer": [{"width": [16], "rate": 0.1, "norm": null}]})",
       "`width`: expected one of its 2 values"},
      {R"({"answer": [{"width": 18446744073709551615, "rate": 0.1, "norm": null}]})",
       "got `18446744073709551615`"}};
  for (const auto& [line, mistake] : mistakes) {
    EXPECT_THAT(user_error_of([&] { (void)read_answer(line, mixed_space()); }), HasSubstr(mistake));
  }
}

TEST(TunerLines, RequestsOfASamplerAreQuestionsAndResults) {
  EXPECT_EQ(std::get<std::size_t>(request(R"({"ask": 3})")), 3U);
  const auto told =
      std::get<ToldResult>(request(R"({"tell": {"trial": 2, "values": {"loss": 1, "size": -2.5}}})"));
  EXPECT_EQ(told.number, 2U);
  EXPECT_THAT(std::get<trial::Measurements>(told.outcome).values, ElementsAre(1, -2.5));
  const auto known = std::get<ToldResult>(request(
      R"({"tell": {"trial": null, "parameters": {"width": 16, "rate": 0.1, "norm": true}, "failed": "out"}})"));
  EXPECT_FALSE(known.number);
  EXPECT_THAT(known.genotype.value().choices, ElementsAre(0, 0, 2));
  EXPECT_EQ(std::get<trial::Failure>(known.outcome).reason, "out");
}

TEST(TunerLines, RequestsThatAreNoneAreRefused) {
  const std::vector<std::pair<std::string, std::string>> mistakes{
      {R"({"akst": 3})", "expected `ask` or `tell`"},
      {R"({"ask": 0})", "ask: expected a number from 1 to 10000, got 0"},
      {R"({"ask": -1})", "ask: expected a whole number, got -1"},
      {R"({"ask": 10001})", "ask: expected a number from 1 to 10000"},
      {R"({"tell": 3})", "tell: expected a result, got `3`"},
      {R"({"tell": {"trial": 1.5}})", "trial: expected a whole number, got 1.5"},
      {R"({"tell": {"trial": 1}})", "missing member `values`"},
      {R"({"tell": {"trial": 1, "values": 3}})", "values: expected values of metrics by name"},
      {R"({"tell": {"trial": 1, "values": {"loss": 1}}})", "values: lacks the metric `size`"},
      {R"({"tell": {"trial": 1, "values": {"los": 1}}})", "values: no metric `los`, did you mean `loss`?"},
      {R"({"tell": {"trial": 1, "values": {"loss": "1"}}})", "values.loss: expected a number, got"}};
  for (const auto& [line, mistake] : mistakes) {
    EXPECT_THAT(user_error_of([&] { (void)request(line); }), HasSubstr(mistake));
  }
}

}  // namespace
}  // namespace skyline::app
