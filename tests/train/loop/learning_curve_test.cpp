#include "train/loop/learning_curve.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

/// Step i has the loss i and the rate -i.
LearningCurve course_of(std::int64_t steps) {
  LearningCurve course(2);
  for (std::int64_t step = 1; step <= steps; ++step) {
    course.add(step, static_cast<double>(step), -static_cast<double>(step));
  }
  return course;
}

TEST(LearningCurve, HasAPointForEachOfFewSteps) {
  const auto points = course_of(99).points();
  ASSERT_EQ(points.size(), 99U);
  EXPECT_EQ(points[4].step, 5);
  EXPECT_EQ(points[4].train_loss, 5);
  EXPECT_EQ(points[4].learning_rate, -5);
  EXPECT_TRUE(std::isnan(points[4].validation.loss));
}

TEST(LearningCurve, HasAtMostAHundredPointsThatCoverAllSteps) {
  for (const std::int64_t steps : {1, 99, 100, 101, 199, 200, 1000, 1601, 12345}) {
    const auto points = course_of(steps).points();
    EXPECT_LE(points.size(), LearningCurve::kMostPoints) << steps;
    EXPECT_GE(points.size(), static_cast<std::size_t>(std::min<std::int64_t>(steps, 50))) << steps;
    EXPECT_EQ(points.back().step, steps);
    std::int64_t before = 0;
    for (const LearningCurve::Point& point : points) {
      EXPECT_NEAR(point.train_loss, static_cast<double>(before + 1 + point.step) / 2, 1e-9);
      EXPECT_EQ(point.learning_rate, -static_cast<double>(point.step));
      before = point.step;
    }
  }
}

TEST(LearningCurve, WeighsTheLastBatchOfAnEpochByItsSamples) {
  // An epoch has two full batches and a quarter of one, whose loss is far off.
  LearningCurve course(2, {3, 0.25});
  for (std::int64_t step = 1; step <= 3 * 320; ++step) course.add(step, step % 3 == 0 ? 10 : 1, 1);
  const auto points = course.points();
  ASSERT_EQ(points[2].step - points[1].step, 16);
  std::int64_t before = 0;
  for (const LearningCurve::Point& point : points) {
    const std::int64_t few = point.step / 3 - before / 3;
    const std::int64_t full = point.step - before - few;
    EXPECT_NEAR(point.train_loss,
                (static_cast<double>(full) + 2.5 * static_cast<double>(few)) /
                    (static_cast<double>(full) + 0.25 * static_cast<double>(few)),
                1e-12);
    before = point.step;
  }
}

TEST(LearningCurve, APointOfFewSamplesJoinsTheOneBefore) {
  LearningCurve course(1, {.count = 2, .last_share = 0.25});
  course.add(1, 8, 0.5);
  course.add(2, 3, 0.25);
  course.add_score({{0.75}, 0.5});
  ASSERT_EQ(course.points().size(), 1U);
  EXPECT_EQ(course.points()[0].step, 2);
  EXPECT_EQ(course.points()[0].train_loss, (8 + 0.25 * 3) / 1.25);
  EXPECT_EQ(course.points()[0].learning_rate, 0.25);
  EXPECT_EQ(course.points()[0].validation.metrics, std::vector<double>{0.75});
  course.add(3, 5, 0.125);
  ASSERT_EQ(course.points().size(), 2U);
  EXPECT_EQ(course.points()[1].train_loss, 5);

  LearningCurve of_epochs(1, {.count = 1});  // epochs of one batch each
  for (std::int64_t step = 1; step <= 8; ++step) of_epochs.add(step, 1, 1);
  EXPECT_EQ(of_epochs.points().size(), 8U);

  LearningCurve long_one(1);  // four steps a point, and one more
  for (std::int64_t step = 1; step <= 201; ++step) long_one.add(step, static_cast<double>(step), 1);
  EXPECT_EQ(long_one.points().back().step, 201);
  EXPECT_EQ(long_one.points().back().train_loss, (197 + 198 + 199 + 200 + 201) / 5.0);
}

TEST(LearningCurve, KeepsScoresWhenPointsBecomeOne) {
  LearningCurve course(2);
  for (std::int64_t step = 1; step <= 150; ++step) {
    course.add(step, 1, 1);
    if (step == 9) course.add_score({{0.75, 3}, 0.5});
  }
  course.add_score({{0.875, 4}, 0.25});
  const auto points = course.points();
  EXPECT_EQ(points[4].step, 10);
  EXPECT_EQ(points[4].validation.loss, 0.5);
  EXPECT_EQ(points[4].validation.metrics, (std::vector<double>{0.75, 3}));
  EXPECT_EQ(points.back().validation.metrics, (std::vector<double>{0.875, 4}));

  std::vector<LearningCurve::Number> numbers;
  course.save(numbers);
  LearningCurve again(2);
  ASSERT_TRUE(again.load(numbers));
  EXPECT_EQ(again.points()[4].validation.metrics, points[4].validation.metrics);
  EXPECT_TRUE(again.points()[5].validation.metrics.empty());
}

TEST(LearningCurve, GoesOnFromWhatWasSaved) {
  for (const std::int64_t stop : {0, 1, 99, 100, 307}) {
    LearningCurve before = course_of(stop);
    std::vector<LearningCurve::Number> numbers;
    before.save(numbers);
    LearningCurve course(2);
    ASSERT_TRUE(course.load(numbers));
    for (std::int64_t step = stop + 1; step <= 500; ++step) {
      course.add(step, static_cast<double>(step), -static_cast<double>(step));
    }
    const auto expected = course_of(500).points();
    const auto points = course.points();
    ASSERT_EQ(points.size(), expected.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(points[i].step, expected[i].step);
      EXPECT_EQ(points[i].train_loss, expected[i].train_loss);
    }
  }
}

TEST(LearningCurve, TakesNothingElseForACourse) {
  std::vector<LearningCurve::Number> numbers;
  course_of(3).save(numbers);
  LearningCurve course(2);
  EXPECT_FALSE(course.load(std::span(numbers).first(numbers.size() - 1)));
  numbers.back().name = "loss";
  EXPECT_FALSE(course.load(numbers));
  EXPECT_FALSE(course.load({}));
  EXPECT_TRUE(course.points().empty());
}

}  // namespace
}  // namespace skyline::train
