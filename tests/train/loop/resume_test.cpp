// What a resumed trial promises beside the contract of every training.
#include "train/fixtures/trainings.hpp"

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::adam_options;
using test::every_layer_trial;
using test::kEpochSteps;
using test::Training;
using test::TrialEnd;
using trial::TrainingState;
using trial::Trial;

constexpr int kSteps = 39;
constexpr int kScorings = 2;  // batches of validation samples

TEST(Resume, IsExactInATrialThatEndsWithAnEpoch) {
  const Training training({1}, adam_options());
  const Trial trial = every_layer_trial(2 * kEpochSteps);
  const TrainingState state = training.stop(trial, 2 * kEpochSteps + 1);
  EXPECT_EQ(state.step, 2 * kEpochSteps);
  const TrialEnd resumed = training.resume(trial, state);
  expect_same(resumed, training.run(trial));
  EXPECT_EQ(resumed.polls, kScorings);
}

TEST(Resume, StopsAMeasurementOfLatencyAndTakesItUpAgain) {
  const Training training({1}, adam_options(), true);
  const Trial trial = every_layer_trial(kSteps);
  const TrialEnd whole = training.run(trial);
  const int passes = 5;
  EXPECT_EQ(whole.polls, kSteps + kScorings + passes);
  for (int pass = 0; pass < passes; ++pass) {
    SCOPED_TRACE("stopped at pass " + std::to_string(pass));
    const TrainingState state = training.stop(trial, kSteps + kScorings + pass);
    EXPECT_EQ(state.step, kSteps);
    const TrialEnd resumed = training.resume(trial, state);
    expect_same(resumed, whole);
    EXPECT_EQ(resumed.polls, kScorings + passes);
  }
}

TEST(Resume, SavesNothingWhenNothingIsNew) {
  const Training training({1}, adam_options());
  const Trial trial = every_layer_trial(kSteps);
  EXPECT_EQ(training.run(trial, {.stop_after_polls = 0}).saves, 0);
  EXPECT_EQ(training.run(trial, {.start = training.stop(trial, 4), .stop_after_polls = 0}).saves, 0);
}

TEST(Resume, TakesTheMemoryOfTheSnapshotBeforeAgain) {
  const Training training({1}, adam_options());
  test::RecordingContext context;
  context.last_saved = training.stop(every_layer_trial(kSteps), 5);
  const float* parameters = context.last_saved.arrays[0].values.data();
  const float* moments = context.last_saved.arrays[1].values.data();
  context.stop_after_polls = 9;
  training.evaluator().evaluate(every_layer_trial(kSteps), context);
  EXPECT_EQ(context.last_saved.step, 9);
  EXPECT_EQ(context.last_saved.arrays[0].values.data(), parameters);
  EXPECT_EQ(context.last_saved.arrays[1].values.data(), moments);
}

}  // namespace
}  // namespace skyline::train
