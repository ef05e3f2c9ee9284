#include "report/files/trial_results.hpp"
#include "report/sample_run.hpp"
#include "report/text/text_table.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace skyline::report {
namespace {

TEST(SiText, KeepsFourDigitsAndPicksThePrefix) {
  EXPECT_EQ(si_text(0), "0");
  EXPECT_EQ(si_text(12), "12");
  EXPECT_EQ(si_text(999), "999");
  EXPECT_EQ(si_text(1000), "1.000 k");
  EXPECT_EQ(si_text(88138), "88.14 k");
  EXPECT_EQ(si_text(465200000), "465.2 M");
  EXPECT_EQ(si_text(9.673e11), "967.3 G");
  EXPECT_EQ(si_text(4.6e15), "4.600 P");
  EXPECT_EQ(si_text(1.234e40), "1.234e+40");
  EXPECT_EQ(si_text(-1e300, " ", "B"), "-1e+300 B");
  EXPECT_EQ(si_text(-88138), "-88.14 k");
}

TEST(SiText, RoundsIntoTheNextPrefixInsteadOfFourDigitsBeforeThePoint) {
  EXPECT_EQ(si_text(999949), "999.9 k");
  EXPECT_EQ(si_text(999950), "1.000 M");
  EXPECT_EQ(si_text(999999999), "1.000 G");
}

TEST(SiText, PutsTheUnitBehindThePrefix) {
  EXPECT_EQ(si_text(401408, " ", "B"), "401.4 kB");
  EXPECT_EQ(si_text(12, " ", "B"), "12 B");
  EXPECT_EQ(si_text(88138, ""), "88.14k");
}

TEST(SignificantText, NeverUsesAnExponent) {
  EXPECT_EQ(significant_text(0.00012345, 3), "0.000123");
  EXPECT_EQ(significant_text(1.5, 3), "1.50");
  EXPECT_EQ(significant_text(12.345, 3), "12.3");
  EXPECT_EQ(significant_text(1234567, 3), "1230000");
  EXPECT_EQ(significant_text(0, 3), "0");
}

TEST(SignificantText, CountsTheDigitThatRoundingAdds) {
  EXPECT_EQ(significant_text(9.996, 3), "10.0");
  EXPECT_EQ(significant_text(0.9999, 3), "1.00");
  EXPECT_EQ(significant_text(-9.996, 3), "-10.0");
}

/// The value of the sample metric of this name, as it is written.
std::string text_of(std::string_view metric, double value, std::string_view separator = " ") {
  return metric_text(described(metric, testing::sample_metrics()), value, separator);
}

TEST(MetricText, FollowsTheDescriptionOfTheMetric) {
  EXPECT_EQ(text_of("validation_accuracy", 0.98125), "0.9812");
  EXPECT_EQ(text_of("test_accuracy", 1), "1.0000");
  EXPECT_EQ(text_of("flops", 465200000), "465.2 M");
  EXPECT_EQ(text_of("flops", 465200000, ""), "465.2M");
  EXPECT_EQ(text_of("parameters", 234), "234");
  EXPECT_EQ(text_of("peak_activation_bytes", 100352), "100.4 kB");
  EXPECT_EQ(text_of("latency_ms", 0.12345), "0.123");
  EXPECT_EQ(text_of("latency_ms", 1234.5), "1230");
  EXPECT_EQ(text_of("steps", 840), "840");
  EXPECT_EQ(text_of("something", 0.123456), "0.1235");
  EXPECT_EQ(metric_text({.name = "balance", .range = {0, 1}}, 0.5), "0.5000");
  EXPECT_EQ(metric_text({.name = "energy", .unit = "B"}, 2000), "2.000 kB");
  EXPECT_EQ(metric_text({.name = "accuracy_in_seconds"}, 0.98125), "0.9812") << "its name says nothing";
}

TEST(MetricText, ShowsWhatWasNotMeasuredAsADash) {
  EXPECT_EQ(text_of("latency_ms", std::nan("")), "-");
  EXPECT_EQ(text_of("validation_accuracy", std::nan("")), "-");
}

TEST(MetricText, SurvivesInfinity) {
  EXPECT_EQ(text_of("something", std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(text_of("flops", std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(text_of("latency_ms", -std::numeric_limits<double>::infinity()), "-inf");
}

TEST(DurationText, GrowsFromMinutesToDays) {
  EXPECT_EQ(duration_text(-3), "0:00");
  EXPECT_EQ(duration_text(7.9), "0:07");
  EXPECT_EQ(duration_text(185), "3:05");
  EXPECT_EQ(duration_text(7385), "2:03:05");
  EXPECT_EQ(duration_text(86400 + 7385), "1d 02:03:05");
}

TEST(FormatNumber, ShowsFourDigits) {
  EXPECT_EQ(format_number(0.98123), "0.9812");
  EXPECT_EQ(format_number(511720000), "511.7 M");
  EXPECT_EQ(format_number(0), "0");
}

}  // namespace
}  // namespace skyline::report
