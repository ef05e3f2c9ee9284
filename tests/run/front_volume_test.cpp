#include "run/run_state.hpp"
#include "support/sample_metrics.hpp"
#include "support/yaml_config.hpp"

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

TEST(FrontVolume, IsTheShareOfTheBoxBetweenReferencesAndIdeals) {
  const double area = 0.5 * (1000.0 - 100.0) + 0.9 * (2000.0 - 1000.0);
  EXPECT_DOUBLE_EQ(volume("[{maximize: validation_accuracy}, {minimize: flops, reference: 2000}]").value(),
                   area / 2000);
}

TEST(FrontVolume, DoesNotCountValuesThatAreWorseThanTheReference) {
  EXPECT_DOUBLE_EQ(volume("[{maximize: validation_accuracy}, {minimize: flops, reference: 500}]").value(),
                   0.5 * (500.0 - 100.0) / 500);
  EXPECT_DOUBLE_EQ(
      volume("[{maximize: validation_accuracy, reference: 0.6}, {minimize: flops, reference: 2000}]").value(),
      0.3 / 0.4 * 0.5);
}

TEST(FrontVolume, IsUnknownWhereAnObjectiveHasNoReferenceOrNoIdeal) {
  EXPECT_FALSE(volume("[{maximize: validation_accuracy}, {minimize: flops}]"));
  EXPECT_FALSE(volume("[{maximize: own_metric}, {minimize: flops, reference: 2000}]"));
  EXPECT_FALSE(volume("[{maximize: own_metric, reference: 0}, {minimize: flops, reference: 2000}]"));
}

TEST(FrontVolume, IsZeroWithoutPoints) {
  const auto set = objective::ObjectiveSet::parse(
      testing::config_from_yaml("[{minimize: flops, reference: 5}]"), nullptr, {});
  EXPECT_EQ(volume_of(set, {}), 0);
}

}  // namespace
}  // namespace skyline::run
