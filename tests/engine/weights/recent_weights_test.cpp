#include "engine/weights/parent_exchange.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

/// One tensor of so many bytes.
RecentWeights::File weights_of(trial::TrialNumber trial, std::size_t bytes) {
  auto file = std::make_shared<store::WeightsFile>();
  file->trial = trial;
  const std::size_t floats = bytes / sizeof(float);
  file->tensors = {
      {"linear_0.weight", {static_cast<std::int64_t>(floats)}, std::vector<float>(floats, 1.0F)}};
  return file;
}

TEST(RecentWeights, GivesBackTheFileOfATrial) {
  RecentWeights recent(1000);
  const RecentWeights::File file = weights_of(7, 400);
  recent.keep(file);
  recent.keep(weights_of(8, 400));
  EXPECT_EQ(recent.find(7), file);
  EXPECT_EQ(recent.find(9), nullptr);
}

TEST(RecentWeights, ForgetsTheLeastRecentlyUsedBeyondItsBytes) {
  RecentWeights recent(1000);
  recent.keep(weights_of(1, 400));
  recent.keep(weights_of(2, 400));
  EXPECT_NE(recent.find(1), nullptr);
  recent.keep(weights_of(3, 400));
  EXPECT_NE(recent.find(1), nullptr);
  EXPECT_EQ(recent.find(2), nullptr);
  EXPECT_NE(recent.find(3), nullptr);
}

TEST(RecentWeights, KeepsNothingOfAFileThatIsTooLarge) {
  RecentWeights recent(1000);
  recent.keep(weights_of(1, 400));
  recent.keep(weights_of(2, 1004));
  EXPECT_NE(recent.find(1), nullptr);
  EXPECT_EQ(recent.find(2), nullptr);
}

}  // namespace
}  // namespace skyline::engine
