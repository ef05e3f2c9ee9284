#include "evaluate/process/report_reader.hpp"

#include "trial/course_text.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::evaluate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trial::Measurements;
using trial::Metric;

constexpr std::string_view kResult = "{\"result\": {\"accuracy\": 93.1, \"size_mb\": 4.2}}\n";

std::vector<Metric> two_metrics() {
  return {{.name = "accuracy", .range = {0, 100}}, {.name = "size_mb", .range = {.low = 0}}};
}

ReportReader reader_of(std::string_view text) {
  ReportReader reader(two_metrics(), false);
  reader.feed(text, ReportChannel::kDescriptor);
  return reader;
}

std::vector<double> result_of(std::string_view text) {
  ReportReader reader = reader_of(text);
  const auto outcome = reader.finish();
  EXPECT_TRUE(std::holds_alternative<Measurements>(outcome)) << reader.mistake().value_or("");
  return std::holds_alternative<Measurements>(outcome) ? std::get<Measurements>(outcome).values
                                                       : std::vector<double>{};
}

std::string mistake_of(std::string_view text) {
  ReportReader reader = reader_of(text);
  const auto outcome = reader.finish();
  const auto* mistake = std::get_if<std::string>(&outcome);
  return mistake == nullptr ? "(no mistake)" : *mistake;
}

TEST(ReportReaderTest, AResultIsReadInTheOrderOfTheMetrics) {
  EXPECT_THAT(result_of(kResult), ElementsAre(93.1, 4.2));
  EXPECT_THAT(result_of("{\"result\": {\"size_mb\": 4, \"accuracy\": 1e1}}\n"), ElementsAre(10, 4));
}

TEST(ReportReaderTest, ALastLineNeedsNoLineFeed) {
  EXPECT_THAT(result_of(kResult.substr(0, kResult.size() - 1)), ElementsAre(93.1, 4.2));
}

TEST(ReportReaderTest, LinesMayEndAsOnWindowsAndBeEmpty) {
  EXPECT_THAT(result_of("\n\r\n{\"result\": {\"accuracy\": 1, \"size_mb\": 2}}\r\n\n"), ElementsAre(1, 2));
}

TEST(ReportReaderTest, PointsAreGivenOnceAsTheyCome) {
  ReportReader reader =
      reader_of("{\"step\": 1, \"accuracy\": 50}\n{\"size_mb\": 2, \"step\": 3, \"accuracy\": 71.5}\n");
  const auto points = reader.take_points();
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[1].step, 3);
  ASSERT_EQ(points[1].values.size(), 2U);
  EXPECT_EQ(points[1].values[0].name, "accuracy");
  EXPECT_EQ(points[1].values[0].value, 71.5);
  EXPECT_TRUE(reader.take_points().empty());
}

TEST(ReportReaderTest, DeclaredStepsAreGivenOnceAllTheirNamesWereReported) {
  ReportReader reader(two_metrics(), false);
  reader.declare({1, 3, 5}, {"accuracy", "size_mb"});
  const auto after = [&](std::string_view line) {
    reader.feed(std::string(line) + "\n", ReportChannel::kDescriptor);
    std::vector<std::string> texts;
    for (const trial::CurvePoint& point : reader.take_declared()) texts.push_back(trial::to_text(point));
    return texts;
  };
  EXPECT_THAT(after("{\"step\": 1, \"loss\": 2}"), ElementsAre());
  EXPECT_THAT(after("{\"step\": 1, \"accuracy\": 50}"), ElementsAre());
  EXPECT_THAT(after("{\"step\": 1, \"accuracy\": 60, \"size_mb\": 2}"),
              ElementsAre("step 1: accuracy=50 size_mb=2"))
      << "the first value counts";
  EXPECT_THAT(after("{\"step\": 1, \"accuracy\": 70, \"size_mb\": 2}"), ElementsAre());
  EXPECT_THAT(after("{\"step\": 2, \"accuracy\": 70, \"size_mb\": 2}"), ElementsAre()) << "not declared";
  EXPECT_THAT(after("{\"step\": 3, \"accuracy\": 70}"), ElementsAre());
  EXPECT_THAT(after("{\"step\": 5, \"size_mb\": 3, \"accuracy\": NaN}"), ElementsAre("step 5: size_mb=3"))
      << "what is no number is missing, and answered";
  EXPECT_THAT(reader.missing_of(3), ElementsAre("size_mb"));
  for (const std::int64_t step : {1, 5, 7}) EXPECT_THAT(reader.missing_of(step), ElementsAre()) << step;
  EXPECT_FALSE(reader.has_result());
}

TEST(ReportReaderTest, PiecesMayEndAnywhere) {
  const std::string text = "{\"step\": 1, \"accuracy\": 50}\n" + std::string(kResult);
  ReportReader reader(two_metrics(), false);
  for (const char letter : text) reader.feed({&letter, 1}, ReportChannel::kDescriptor);
  EXPECT_EQ(reader.take_points().size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Measurements>(reader.finish()));
}

TEST(ReportReaderTest, TheChannelsDoNotMixTheirLines) {
  ReportReader reader(two_metrics(), false);
  reader.feed("{\"step\": 1,", ReportChannel::kDescriptor);
  reader.feed(kResult, ReportChannel::kFile);
  reader.feed(" \"accuracy\": 5}\n", ReportChannel::kDescriptor);
  EXPECT_EQ(reader.take_points().size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Measurements>(reader.finish()));
}

TEST(ReportReaderTest, AMetricOfFullTrainingsMayBeMissingFromASearchTrialOnly) {
  const std::vector<Metric> metrics{{.name = "a"}, {.name = "b", .when = Metric::When::kFullTraining}};
  const std::string_view text = "{\"result\": {\"a\": 1}}\n";
  ReportReader search(metrics, false);
  search.feed(text, ReportChannel::kDescriptor);
  const auto outcome = search.finish();
  ASSERT_TRUE(std::holds_alternative<Measurements>(outcome));
  EXPECT_TRUE(std::isnan(std::get<Measurements>(outcome).values[1]));
  ReportReader full(metrics, true);
  full.feed(text, ReportChannel::kDescriptor);
  EXPECT_EQ(std::get<std::string>(full.finish()), "line 1 of its report: the result has no `b`");
}

TEST(ReportReaderTest, WhatASearchTrialReportsOfAMetricOfFullTrainingsIsDropped) {
  const std::vector<Metric> metrics{{.name = "a"}, {.name = "b", .when = Metric::When::kFullTraining}};
  for (const bool is_final : {false, true}) {
    ReportReader reader(metrics, is_final);
    reader.feed(
        "{\"step\": 1, \"b\": 2}\n{\"step\": 2, \"a\": 1, \"b\": 2}\n{\"result\": {\"a\": 1, \"b\": 2}}\n",
        ReportChannel::kDescriptor);
    std::size_t values = 0;
    for (const trial::CurvePoint& point : reader.take_points()) values += point.values.size();
    EXPECT_EQ(values, is_final ? 3U : 1U);
    EXPECT_EQ(std::isnan(std::get<Measurements>(reader.finish()).values[1]), !is_final);
  }
}

TEST(ReportReaderTest, OnlyTheFirstMistakeCounts) {
  ReportReader reader = reader_of("[]\n3\n" + std::string(kResult));
  EXPECT_THAT(*reader.mistake(), HasSubstr("line 1 "));
  reader.refuse("another");
  EXPECT_THAT(std::get<std::string>(reader.finish()), HasSubstr("line 1 "));
}

TEST(ReportReaderTest, AMistakeIsOneClearLine) {
  const std::string result(kResult);
  const std::string digits(400, '9');
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "it reported no result"},
      {"{\"step\": 1, \"accuracy\": 3}\n", "it reported no result"},
      {result + result, "line 2 of its report: it is a second result"},
      {"{\"result\": {\"accuracy\": 9", "line 1 of its report: it is not JSON at character 26"},
      {"accuracy: 3\n", "line 1 of its report: it is not JSON at character 1"},
      {result.substr(0, result.size() - 1) + " x\n", "line 1 of its report: it is not JSON at character 48"},
      {"{\"result\": {\"accuracy\": 1, \"accuracy\": 2, \"size_mb\": 1}}\n",
       "line 1 of its report: `accuracy`: it is there twice"},
      {"{\"result\": {}, \"result\": {}}\n", "line 1 of its report: `result`: it is there twice"},
      {"{\"result\": {\"acuracy\": 1, \"size_mb\": 1}}\n",
       "line 1 of its report: the result has no `accuracy`, but `acuracy`, which is no declared metric "
       "(accuracy, size_mb)"},
      {"{\"result\": {\"accuracy\": 1}}\n", "line 1 of its report: the result has no `size_mb`"},
      {"{\"result\": {\"accuracy\": NaN, \"size_mb\": 1}}\n",
       "line 1 of its report: `accuracy`: expected a finite number, got NaN or an infinite one"},
      {"{\"result\": {\"accuracy\": nan}}\n",
       "line 1 of its report: `accuracy`: expected a finite number, got NaN or an infinite one"},
      {"{\"result\": {\"accuracy\": \"-inf\"}}\n",
       "line 1 of its report: `accuracy`: expected a finite number, got NaN or an infinite one"},
      {"{\"result\": {\"accuracy\": 1e999}}\n",
       "line 1 of its report: `accuracy`: expected a finite number, got NaN or an infinite one"},
      {"{\"result\": {\"accuracy\": " + digits + "}}\n",
       "line 1 of its report: `accuracy`: expected a finite number, got NaN or an infinite one"},
      {"{\"result\": {\"accuracy\": 1, \"size_mb\": -0.5}}\n",
       "line 1 of its report: `size_mb`: expected a number at least 0.0, got -0.5"},
      {"{\"result\": {\"accuracy\": \"93\"}}\n",
       "line 1 of its report: `accuracy`: expected a number, got the text `93`"},
      {"{\"result\": {\"accuracy\": null}}\n",
       "line 1 of its report: `accuracy`: expected a number, got null"},
      {"{\"result\": {\"accuracy\": true}}\n",
       "line 1 of its report: `accuracy`: expected a number, got true"},
      {"{\"result\": {\"accuracy\": [1]}}\n",
       "line 1 of its report: `accuracy`: expected a number, got a list"},
      {"{\"result\": {\"accuracy\": {\"accuracy\": 1}}}\n",
       "line 1 of its report: `accuracy`: expected a number, got an object"},
      {"{\"result\": 3}\n", "line 1 of its report: `result`: expected an object, got 3.0"},
      {"{\"accuracy\": 1, \"result\": {}}\n", "line 1 of its report: the result has no `accuracy`"},
      {"[1]\n", "line 1 of its report: expected an object, got a list"},
      {"3\n", "line 1 of its report: expected an object, got 3.0"},
      {"{}\n", "it reported no result, but line 1 of its report: expected `step` or `result`, got neither"},
      {"{\"step\": 1, \"accuracy\": 1}\n{\"accuracy\": 3}\n{\"size_mb\": 3}\n",
       "it reported no result, but line 2 of its report: expected `step` or `result`, got neither"},
      {"{\"step\": 1, \"a\033[2J\": 1}\n", "line 1 of its report: it is not JSON at character 15"},
      {std::string(100'000, '['), "line 1 of its report: it is longer than 65536 bytes"},
      {std::string(60'000, '['), "line 1 of its report: it is not JSON at character 1"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(mistake_of(text), expected) << text.substr(0, 100);
}

TEST(ReportReaderTest, ALineMayHave64KiBAndNoMore) {
  const std::string line = "{\"result\": {\"accuracy\": 1, \"size_mb\": 2}}";
  const std::string longest = line + std::string(ReportReader::kLongestLine - line.size(), ' ');
  EXPECT_THAT(result_of(longest + "\n"), ElementsAre(1, 2));
  EXPECT_EQ(mistake_of(longest + " \n"), "line 1 of its report: it is longer than 65536 bytes");
}

/// Returns the points of a report and what was left out, as text.
std::pair<std::string, std::vector<std::string>> curve_of(const std::string& text) {
  ReportReader reader = reader_of(text + std::string(kResult));
  std::string points;
  for (const trial::CurvePoint& point : reader.take_points()) points += to_text(point) + "; ";
  std::vector<std::string> reasons;
  for (const LeftOut::Reason& reason : reader.take_reasons()) reasons.push_back(reason.text);
  EXPECT_TRUE(std::holds_alternative<Measurements>(reader.finish())) << text;
  return {points, reasons};
}

TEST(ReportReaderTest, APointMayHaveAnyNamesAndGaps) {
  EXPECT_EQ(curve_of("{\"step\": 1, \"accuracy\": 5, \"train loss\": 0.5}\n").first,
            "step 1: accuracy=5 train loss=0.5; ");
  const std::vector<std::string> gaps{"NaN",
                                      "nan",
                                      "Infinity",
                                      "-Infinity",
                                      "inf",
                                      "1e999",
                                      "-" + std::string(400, '9'),
                                      "\"NaN\"",
                                      "null",
                                      "130",
                                      "\"text\"",
                                      "true",
                                      "[1, {\"step\": 9}]",
                                      "{\"accuracy\": 1}"};
  for (const std::string& gap : gaps) {
    const auto [points, reasons] = curve_of("{\"step\": 1, \"accuracy\": " + gap + ", \"loss\": 2}\n");
    EXPECT_EQ(points, "step 1: loss=2; ") << gap;
    ASSERT_EQ(reasons.size(), 1U) << gap;
    EXPECT_THAT(reasons.front(), HasSubstr("line 1 of its report: `accuracy`: expected a")) << gap;
  }
  EXPECT_EQ(curve_of("{\"step\": 1, \"accuracy\": NaN}\n{\"step\": 2}\n").first, "");
}

TEST(ReportReaderTest, AStepThatACurveCannotHaveIsLeftOutAndEqualOnesAreNot) {
  for (const char* step : {"0.5", "-1", "NaN", "1e30", "\"x\"", "18446744073709551615", "2"}) {
    const auto [points, reasons] = curve_of("{\"step\": 3.0, \"a\": 1}\n{\"step\": " + std::string(step) +
                                            ", \"a\": 2}\n{\"step\": 3, \"b\": 2}\n");
    EXPECT_EQ(points, "step 3: a=1; step 3: b=2; ") << step;
    ASSERT_EQ(reasons.size(), 1U) << step;
    EXPECT_THAT(reasons.front(), HasSubstr("line 2 of its report: `step`: expected a ")) << step;
  }
}

TEST(ReportReaderTest, ACurveHas64NamesAndNoneThatTablesCannotHave) {
  std::string line = "{\"step\": 1";
  for (int i = 0; i < 70; ++i) line += ", \"n" + std::to_string(i) + "\": 1";
  const auto [points, reasons] =
      curve_of(line + ", \"a\\u0000\": 1, \"\": 1, \"" + std::string(101, 'x') + "\": 1}\n");
  EXPECT_EQ(std::ranges::count(points, '='), 64);
  EXPECT_THAT(reasons,
              ElementsAre("line 1 of its report: `n64`: a learning curve has at most 64 names",
                          "line 1 of its report: `a\\x00`: expected a name of 1 to 100 bytes without control "
                          "characters"));
}

TEST(ReportReaderTest, NamesOfAResultThatAreNoMetricsAreLeftOut) {
  for (const std::string text :
       {"{\"result\": {\"accuracy\": 1, \"size_mb\": 2, \"host\": \"a\", \"x\": [1]}}\n",
        "{\"host\": 3, \"result\": {\"accuracy\": 1, \"size_mb\": 2}, \"step\": 1}\n"}) {
    EXPECT_THAT(result_of(text), ElementsAre(1, 2));
    ReportReader reader = reader_of(text);
    const auto reasons = reader.take_reasons();
    ASSERT_EQ(reasons.size(), 1U);
    EXPECT_THAT(reasons.front().text, HasSubstr("`host`"));
  }
}

TEST(ReportReaderTest, WhatASearchTrialReportsOfAMetricOfFullTrainingsMayBeAnything) {
  ReportReader reader({{.name = "a"}, {.name = "b", .when = Metric::When::kFullTraining}}, false);
  reader.feed("{\"result\": {\"a\": 1, \"b\": NaN}}\n", ReportChannel::kDescriptor);
  EXPECT_TRUE(std::holds_alternative<Measurements>(reader.finish()));
}

TEST(ReportReaderTest, PointsAfterTenThousandAreLeftOut) {
  std::string text;
  for (int step = 0; step < 10'002; ++step)
    text += "{\"step\": " + std::to_string(step) + ", \"accuracy\": 1}\n";
  ReportReader reader = reader_of(text + std::string(20'000, '\n') + std::string(kResult));
  EXPECT_EQ(reader.take_points().size(), 10'000U);
  EXPECT_EQ(reader.take_reasons().front().text, "line 10001 of its report: there are more than 10000 points");
  EXPECT_TRUE(std::holds_alternative<Measurements>(reader.finish()));
}

}  // namespace
}  // namespace skyline::evaluate
