#include "run/run_state.hpp"
#include "support/yaml_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::run {
namespace {

using ::testing::ElementsAre;

class FrontVolumeTest : public ::testing::Test {
 protected:
  FrontVolume volume(const FrontPoints& points) const { return volume_of(set_.objectives(), points); }

  const objective::ObjectiveSet set_ = objective::ObjectiveSet::parse(
      testing::config_from_yaml("[{maximize: accuracy}, {minimize: flops}]"), nullptr, {"accuracy"});
};

TEST_F(FrontVolumeTest, IsTheAreaBetweenTheFrontAndTheReference) {
  const FrontVolume measured = volume({{-0.5, 88138, -0.98125, 465200000}, {0.45, 465200000}});
  const double worst_flops = 465200000 * 1.1;
  EXPECT_THAT(measured.reference, ElementsAre(0, ::testing::DoubleEq(worst_flops)));
  // Two rectangles: one point alone up to the flops of the other, then the other up to the reference.
  const double area = 0.5 * (465200000.0 - 88138.0) + 0.98125 * (worst_flops - 465200000.0);
  EXPECT_NEAR(measured.volume, area, 1e-6 * area);
}

TEST_F(FrontVolumeTest, PutsTheReferenceBelowNegativeValuesThatAreMaximized) {
  EXPECT_DOUBLE_EQ(volume({{-0.5, 100}, {-0.5, 100}}).reference[0], -0.55);
}

TEST_F(FrontVolumeTest, IsZeroWithoutAReferenceIfNoTrialSucceeded) {
  const FrontVolume measured = volume({});
  EXPECT_EQ(measured.volume, 0);
  EXPECT_TRUE(measured.reference.empty());
}

}  // namespace
}  // namespace skyline::run
