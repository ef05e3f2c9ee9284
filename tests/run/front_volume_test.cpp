#include "run/run_state.hpp"
#include "support/sample_metrics.hpp"
#include "support/yaml_config.hpp"

#include <cmath>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::run {
namespace {

/// Returns the volume of two points: accuracy 0.5 at 100 FLOPs and 0.9 at 1000.
std::optional<double> volume(const std::string& objectives) {
  const auto set = objective::ObjectiveSet::parse(testing::config_from_yaml(objectives), nullptr,
                                                  {testing::validation_accuracy(), {.name = "own_metric"}});
  return volume_of(set, {{-0.5, 100, -0.9, 1000}});
}

TEST(FrontVolume, IsTheShareOfTheBoxBetweenReferencesAndIdealsByDifferences) {
  const double area = 0.5 * (1000.0 - 100.0) + 0.9 * (2000.0 - 1000.0);
  EXPECT_DOUBLE_EQ(
      volume("[{maximize: validation_accuracy}, {minimize: flops, reference: 2000, scale: linear}]").value(),
      area / 2000);
}

TEST(FrontVolume, IsThatShareByQuotientsWhereTheScaleIsLogarithmic) {
  const std::string accuracy = "[{maximize: validation_accuracy}, ";
  EXPECT_DOUBLE_EQ(volume(accuracy + "{minimize: flops, reference: 100000, ideal: 10}]").value(),
                   0.5 * 0.25 + 0.9 * 0.5)
      << "each step from 10 to 100, 1000, 10000 and 100000 is a quarter";
  EXPECT_DOUBLE_EQ(volume(accuracy + "{minimize: flops, reference: 10000, ideal: 1000}]").value(), 0.9)
      << "100 FLOPs count as 1000, where the better point is";
  EXPECT_DOUBLE_EQ(
      volume("[{maximize: validation_accuracy, reference: 0.225, scale: log}, {minimize: flops, ideal: 1, "
             "reference: 1000, scale: linear}]")
          .value(),
      std::log(0.5 / 0.225) / std::log(1 / 0.225) * 900 / 999);
}

TEST(FrontVolume, DoesNotCountValuesThatAreWorseThanTheReference) {
  EXPECT_DOUBLE_EQ(
      volume("[{maximize: validation_accuracy}, {minimize: flops, reference: 500, scale: linear}]").value(),
      0.5 * (500.0 - 100.0) / 500);
  EXPECT_DOUBLE_EQ(volume("[{maximize: validation_accuracy, reference: 0.6}, {minimize: flops, reference: "
                          "2000, scale: linear}]")
                       .value(),
                   0.3 / 0.4 * 0.5);
}

TEST(FrontVolume, IsUnknownWhereAnObjectiveHasNoReferenceOrNoIdeal) {
  EXPECT_FALSE(volume("[{maximize: validation_accuracy}, {minimize: flops}]"));
  EXPECT_FALSE(volume("[{maximize: validation_accuracy}, {minimize: flops, reference: 2000}]"))
      << "without the space no end below the costs is known";
  const std::string cost = "{minimize: flops, reference: 2000, ideal: 20}";
  EXPECT_FALSE(volume("[{maximize: own_metric}, " + cost + "]"));
  EXPECT_FALSE(volume("[{maximize: own_metric, reference: 0}, " + cost + "]"));
  EXPECT_TRUE(volume("[{maximize: own_metric, reference: 0, ideal: 9}, " + cost + "]"));
}

TEST(FrontVolume, IsZeroWithoutPoints) {
  const auto set = objective::ObjectiveSet::parse(
      testing::config_from_yaml("[{minimize: flops, reference: 5, ideal: 1}]"), nullptr, {});
  EXPECT_EQ(volume_of(set, {}), 0);
}

}  // namespace
}  // namespace skyline::run
