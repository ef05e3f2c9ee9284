#include "report/sample_run.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace skyline::report {
namespace {

TEST(FrontVolume, IsTheAreaBetweenTheFrontAndTheReference) {
  const testing::SampleRun run;
  const FrontVolume volume = front_volume(run.inputs());
  const double worst_flops = 465200000 * 1.1;
  ASSERT_EQ(volume.reference.size(), 2U);
  EXPECT_DOUBLE_EQ(volume.reference[0], 0);
  EXPECT_DOUBLE_EQ(volume.reference[1], worst_flops);
  // Two rectangles: trial 0 alone from its flops to trial 1's, then trial 1 up to the reference.
  const double area = 0.5 * (465200000.0 - 88138.0) + 0.98125 * (worst_flops - 465200000.0);
  EXPECT_NEAR(volume.volume, area, 1e-6 * area);
}

TEST(FrontVolume, TakesTheWorstSuccessfulSearchTrialAndNoFailedOne) {
  testing::SampleRun run;
  testing::SampleTrial dominated{.number = 4,
                                 .choices = {3, 3, 3},
                                 .parameters = 10,
                                 .flops = 1000000000,
                                 .outcome = testing::measured(0.1, 1)};
  run.committed.resize(4);
  run.on_front.resize(4);
  run.committed.push_back(testing::make_trial(run.space, dominated));
  run.on_front.push_back(false);
  EXPECT_DOUBLE_EQ(front_volume(run.inputs()).reference[1], 1.1e9);

  run.committed.back().outcome = trial::Failure{trial::FailureKind::kDiverged, "x"};
  EXPECT_DOUBLE_EQ(front_volume(run.inputs()).reference[1], 465200000 * 1.1);
}

TEST(FrontVolume, PutsTheReferenceBelowNegativeValuesThatAreMaximized) {
  testing::SampleRun run;
  std::get<trial::Measurements>(run.committed[2].outcome).values[0] = -0.5;
  EXPECT_DOUBLE_EQ(front_volume(run.inputs()).reference[0], -0.55);
}

TEST(FrontVolume, IsZeroWithoutAReferenceIfNoTrialSucceeded) {
  testing::SampleRun run;
  for (auto& committed : run.committed) {
    committed.outcome = trial::Failure{trial::FailureKind::kException, "x"};
  }
  std::fill(run.on_front.begin(), run.on_front.end(), false);
  const FrontVolume volume = front_volume(run.inputs());
  EXPECT_EQ(volume.volume, 0);
  EXPECT_TRUE(volume.reference.empty());
}

}  // namespace
}  // namespace skyline::report
