#include "train/parameters/optimizer.hpp"

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using Decay = ScheduleOptions::Decay;

TrainingOptions scheduled(double warmup, Decay decay) {
  TrainingOptions options;
  options.optimizer.learning_rate = 0.8;
  options.schedule.warmup = warmup;
  options.schedule.decay = decay;
  return options;
}

TEST(LearningRate, IsTheSameInEveryStepUnlessToldOtherwise) {
  TrainingOptions options;
  options.optimizer.learning_rate = 0.1;
  const LearningRate rate(options, 10, 25);
  for (const std::int64_t step : {0, 1, 10, 24, 100}) EXPECT_EQ(rate.at(step), 0.1);
}

TEST(LearningRate, RisesStepByStepUntilItIsWarm) {
  const LearningRate rate(scheduled(0.4, Decay::kNone), 10, 25);
  EXPECT_DOUBLE_EQ(rate.at(0), 0.2);
  EXPECT_DOUBLE_EQ(rate.at(1), 0.4);
  EXPECT_DOUBLE_EQ(rate.at(3), 0.8);
  EXPECT_DOUBLE_EQ(rate.at(24), 0.8);
}

TEST(LearningRate, FallsTowardsZeroOverTheStepsThatAreLeft) {
  const LearningRate linear(scheduled(0.5, Decay::kLinear), 10, 25);
  EXPECT_DOUBLE_EQ(linear.at(4), 0.8);
  EXPECT_DOUBLE_EQ(linear.at(5), 0.8);
  EXPECT_DOUBLE_EQ(linear.at(15), 0.4);
  EXPECT_NEAR(linear.at(24), 0.8 / 20, 1e-12);
  const LearningRate cosine(scheduled(0, Decay::kCosine), 10, 20);
  EXPECT_DOUBLE_EQ(cosine.at(0), 0.8);
  EXPECT_DOUBLE_EQ(cosine.at(10), 0.4);
  EXPECT_GT(cosine.at(5), 0.6);
  EXPECT_LT(cosine.at(15), 0.2);
  EXPECT_GT(cosine.at(19), 0);
}

TEST(LearningRate, EndsAtTheFloor) {
  for (const Decay decay : {Decay::kLinear, Decay::kCosine}) {
    TrainingOptions options = scheduled(0, decay);
    options.schedule.floor = 0.25;
    const LearningRate rate(options, 10, 20);
    EXPECT_DOUBLE_EQ(rate.at(0), 0.8);
    EXPECT_DOUBLE_EQ(rate.at(10), 0.5);
    EXPECT_DOUBLE_EQ(rate.at(20), 0.2);
    EXPECT_DOUBLE_EQ(rate.at(100), 0.2);
  }
}

TEST(LearningRate, FallsByAFactorEverySoManyEpochsAfterTheWarmUp) {
  TrainingOptions options = scheduled(0.5, Decay::kStep);
  options.schedule.every = 2;
  options.schedule.factor = 0.5;
  const LearningRate rate(options, 10, 50);
  EXPECT_DOUBLE_EQ(rate.at(5), 0.8);
  EXPECT_DOUBLE_EQ(rate.at(24), 0.8);
  EXPECT_DOUBLE_EQ(rate.at(25), 0.4);
  EXPECT_DOUBLE_EQ(rate.at(45), 0.2);
}

TEST(LearningRate, OnlyWarmsUpWhereTheBudgetIsShorterThanTheWarmUp) {
  const LearningRate rate(scheduled(2, Decay::kCosine), 10, 5);
  EXPECT_DOUBLE_EQ(rate.at(0), 0.04);
  EXPECT_DOUBLE_EQ(rate.at(4), 0.2);
}

}  // namespace
}  // namespace skyline::train
