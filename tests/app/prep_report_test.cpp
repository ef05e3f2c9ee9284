#include "app/prep/prep_process.hpp"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PrepReport report_of(std::string_view text) {
  PrepReport report;
  report.feed(text, evaluate::ReportChannel::kDescriptor);
  return report;
}

TEST(PrepReportTest, LinesErrorsAndTheLastFileAreKept) {
  const PrepReport report = report_of(
      "{\"reading\": \"a.h5\"}\n{\"line\": \"one\"}\n{\"reading\": \"b.h5\"}\n"
      "{\"line\": \"two\"}\n{\"error\": \"b.h5: no\"}\n{\"later\": \"left out\"}\n");
  EXPECT_THAT(report.said(), ElementsAre("one", "two"));
  EXPECT_EQ(report.reading(), "b.h5");
  EXPECT_EQ(report.error(), "b.h5: no");
  EXPECT_EQ(report.mistake(), std::nullopt);
}

TEST(PrepReportTest, TextsAreShownHarmless) {
  EXPECT_THAT(report_of("{\"line\": \"a\\u001b[2J\\nb\"}\n").said(), ElementsAre("a\\x1b[2J\\x0ab"));
}

TEST(PrepReportTest, WhatIsNoReportIsAMistakeAndTheRestIsIgnored) {
  for (const char* line : {"no JSON", "[1]", "{\"line\": 3}", "{\"line\": \"\xff\"}"}) {
    const PrepReport report = report_of(std::string(line) + "\n{\"line\": \"later\"}\n");
    EXPECT_THAT(report.mistake().value_or(""), HasSubstr("line 1 of its report: expected a")) << line;
    EXPECT_TRUE(report.said().empty());
  }
  EXPECT_THAT(report_of(std::string(100'000, '[') + "\n").mistake().value_or(""),
              HasSubstr("an object of JSON"));
  EXPECT_THAT(report_of(std::string((1U << 22) + 1, 'x')).mistake().value_or(""),
              HasSubstr("it is longer than 4194304 bytes"));
}

}  // namespace
}  // namespace skyline::app
