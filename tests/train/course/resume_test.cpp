// A trial that was stopped anywhere and goes on from its saved state ends as the one that never stopped.
#include "train/evaluator/training_evaluator.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::BarImages;
using test::make_trial;
using test::NetworkBuilder;
using test::RecordingContext;
using trial::Failure;
using trial::FailureKind;
using trial::Measurements;
using trial::Outcome;
using trial::Phase;
using trial::TrainingState;
using trial::Trial;

// 203 samples in batches of 16: 13 steps an epoch, the last one smaller. 2.5 epochs are 33 steps (32.5
// rounded), then come 2 batches of validation samples and, in a final trial, one of test samples.
constexpr double kEpochs = 2.5;
constexpr int kEpochSteps = 13;
constexpr int kSteps = 33;
constexpr std::size_t kLatencyMetric = 3;

const std::shared_ptr<const store::Dataset>& bars() {
  static const std::shared_ptr<const store::Dataset> data =
      std::make_shared<BarImages>(space::Shape{2, 8, 8}, 6, 300, 60);
  return data;
}

space::Network every_layer() {
  return NetworkBuilder({2, 8, 8})
      .conv2d(16, 3)
      .batch_norm()
      .relu()
      .max_pool(2)
      .dropout(0.2)
      .conv2d(8, 3)
      .relu()
      .batch_norm()
      .flatten()
      .linear(24)
      .relu()
      .dropout(0.5)
      .linear(6)
      .build();
}

TrainingOptions with(const OptimizerOptions& optimizer) {
  TrainingOptions options;
  options.batch = 16;
  options.optimizer = optimizer;
  options.latency = {1, 2, 3};
  return options;
}

OptimizerOptions adam() {
  OptimizerOptions options;
  options.learning_rate = 0.01;
  options.weight_decay = 1e-3;
  return options;
}

OptimizerOptions sgd(double momentum, bool nesterov) {
  OptimizerOptions options;
  options.kind = OptimizerOptions::Kind::kSgd;
  options.learning_rate = 0.05;
  options.momentum = momentum;
  options.nesterov = nesterov;
  return options;
}

std::unique_ptr<trial::Evaluator> make_evaluator(const TrainingOptions& options, bool latency = false) {
  return make_training_evaluator(options, Normalization::kStandard, bars(), test::split_in_two(203, 90),
                                 latency);
}

Trial every_layer_trial(Phase phase = Phase::kSearch) {
  return make_trial(every_layer(), kEpochs, 5, phase);
}

/// Measurements without the latency, the course, and weights: all that has to be the same.
struct Result {
  std::vector<double> values;
  std::vector<trial::NamedTensor> weights;
};

Result finish(trial::Evaluator& evaluator, const Trial& trial, RecordingContext& context) {
  context.wants = true;
  const Outcome outcome = evaluator.evaluate(trial, context);
  const auto* measured = std::get_if<Measurements>(&outcome);
  EXPECT_NE(measured, nullptr) << std::get<Failure>(outcome).reason;
  Result result{measured == nullptr ? std::vector<double>() : measured->values, context.kept};
  if (!result.values.empty()) {
    result.values[kLatencyMetric] = 0;
  }
  for (const trial::CoursePoint& point : context.course) {
    result.values.insert(result.values.end(), {static_cast<double>(point.step), point.train_loss,
                                               point.learning_rate, point.validation_loss});
  }
  return result;
}

template <typename T>
bool same_bits(const std::vector<T>& left, const std::vector<T>& right) {
  return left.size() == right.size() && !left.empty() &&
         std::memcmp(left.data(), right.data(), left.size() * sizeof(T)) == 0;
}

void expect_same(const Result& expected, const Result& result) {
  EXPECT_TRUE(same_bits(expected.values, result.values)) << ::testing::PrintToString(result.values);
  ASSERT_EQ(expected.weights.size(), result.weights.size());
  for (std::size_t i = 0; i < expected.weights.size(); ++i) {
    EXPECT_EQ(expected.weights[i].name, result.weights[i].name);
    EXPECT_TRUE(same_bits(expected.weights[i].values, result.weights[i].values)) << result.weights[i].name;
  }
}

/// Stops at a poll and returns the state that was saved then.
TrainingState stop_at(trial::Evaluator& evaluator, const Trial& trial, int poll,
                      std::optional<TrainingState> start = {}) {
  RecordingContext context;
  context.stop_after_polls = poll;
  context.start_from = std::move(start);
  const Outcome outcome = evaluator.evaluate(trial, context);
  const auto* failure = std::get_if<Failure>(&outcome);
  EXPECT_NE(failure, nullptr);
  EXPECT_EQ(failure == nullptr ? FailureKind::kException : failure->kind, FailureKind::kStopped);
  EXPECT_EQ(context.saves, 1);
  EXPECT_TRUE(context.kept.empty());
  return context.last_saved;
}

/// Goes on from `state`, and checks that only the steps that were missing are done.
Result resume(trial::Evaluator& evaluator, const Trial& trial, const TrainingState& state,
              std::int64_t recalibrated = 0) {
  RecordingContext context;
  context.start_from = state;
  const Result result = finish(evaluator, trial, context);
  EXPECT_EQ(context.polls(), kSteps - state.step + 2 + (trial.is_final() ? 1 : 0) + recalibrated);
  return result;
}

void expect_exact_resume(const TrainingOptions& options, const Trial& trial) {
  const auto evaluator = make_evaluator(options);
  RecordingContext undisturbed;
  const Result expected = finish(*evaluator, trial, undisturbed);
  EXPECT_EQ(undisturbed.saves, 0);
  // After the first step, amid an epoch, at its end and around it, before and after the last step, and in
  // validation.
  for (const int poll : {1, 7, kEpochSteps - 1, kEpochSteps, kEpochSteps + 1, 2 * kEpochSteps, kSteps - 1,
                         kSteps, kSteps + 1}) {
    SCOPED_TRACE("stopped at poll " + std::to_string(poll));
    const TrainingState state = stop_at(*evaluator, trial, poll);
    EXPECT_EQ(state.step, std::min(poll, kSteps));
    expect_same(expected, resume(*evaluator, trial, state, options.recalibrate));
  }
}

TEST(Resume, IsExactWithAdam) {
  expect_exact_resume(with(adam()), every_layer_trial());
}

TEST(Resume, IsExactWithMomentum) {
  expect_exact_resume(with(sgd(0.9, false)), every_layer_trial());
}

TEST(Resume, IsExactWithNesterovsMomentum) {
  expect_exact_resume(with(sgd(0.9, true)), every_layer_trial());
}

TEST(Resume, IsExactWithPlainSgd) {
  expect_exact_resume(with(sgd(0, false)), every_layer_trial());
}

TEST(Resume, IsExactWithAugmentedImages) {
  TrainingOptions options = with(adam());
  options.augment = {2, true, 3};
  expect_exact_resume(options, every_layer_trial());
}

TEST(Resume, IsExactWithTheWholeRecipe) {
  TrainingOptions options = with(adam());
  options.optimizer.kind = OptimizerOptions::Kind::kAdamW;
  options.optimizer.decayed = OptimizerOptions::Decayed::kWeights;
  options.augment = {.crop = 2, .flip = true, .cutout = 3, .mixup = 0.2, .cutmix = 1};
  options.loss = test::soft_cross_entropy();
  options.optimizer.clip_norm = 0.5;
  options.recalibrate = 3;
  options.schedule = {.warmup = 0.3, .decay = ScheduleOptions::Decay::kCosine, .floor = 0.1};
  expect_exact_resume(options, every_layer_trial());
}

TEST(Resume, IsExactInAFullTrainingThatAveragesAndChoosesItsBestEpoch) {
  TrainingOptions options = with(adam());
  options.recalibrate = 2;
  options.full = {.average = 0.95, .keep = FinalTrainingOptions::Keep::kBest, .patience = 2};
  const auto evaluator = make_evaluator(options);
  const Trial trial = every_layer_trial(Phase::kFinal);
  RecordingContext undisturbed;
  const Result expected = finish(*evaluator, trial, undisturbed);
  for (int poll = 1; poll < undisturbed.polls(); poll += 2) {
    SCOPED_TRACE("stopped at poll " + std::to_string(poll));
    RecordingContext resumed;
    resumed.start_from = stop_at(*evaluator, trial, poll);
    expect_same(expected, finish(*evaluator, trial, resumed));
  }
}

TEST(Resume, IsExactWithAScheduledLearningRate) {
  TrainingOptions options = with(adam());
  options.schedule = {0.7, ScheduleOptions::Decay::kCosine};
  expect_exact_resume(options, every_layer_trial());
}

TEST(Resume, IsExactInAFullTrainingStoppedWhileItIsTested) {
  const auto evaluator = make_evaluator(with(adam()));
  const Trial trial = every_layer_trial(Phase::kFinal);
  RecordingContext undisturbed;
  const Result expected = finish(*evaluator, trial, undisturbed);
  const TrainingState state = stop_at(*evaluator, trial, kSteps + 2);
  EXPECT_EQ(state.step, kSteps);
  expect_same(expected, resume(*evaluator, trial, state));
}

TEST(Resume, IsExactInATrialStoppedBetweenBatchesOfRecalibration) {
  TrainingOptions options = with(adam());
  options.recalibrate = 5;
  const auto evaluator = make_evaluator(options);
  const Trial trial = every_layer_trial();
  RecordingContext undisturbed;
  const Result expected = finish(*evaluator, trial, undisturbed);
  for (const int batch : {0, 3, 4}) {
    const TrainingState state = stop_at(*evaluator, trial, kSteps + batch);
    EXPECT_EQ(state.step, kSteps);
    expect_same(expected, resume(*evaluator, trial, state, options.recalibrate));
  }
}

TEST(Resume, IsExactInATrialThatEndsWithAnEpoch) {
  const auto evaluator = make_evaluator(with(adam()));
  const Trial trial = make_trial(every_layer(), 2, 5);
  RecordingContext undisturbed;
  const Result expected = finish(*evaluator, trial, undisturbed);
  RecordingContext resumed;
  resumed.start_from = stop_at(*evaluator, trial, 2 * kEpochSteps + 1);
  EXPECT_EQ(resumed.start_from->step, 2 * kEpochSteps);
  expect_same(expected, finish(*evaluator, trial, resumed));
  EXPECT_EQ(resumed.polls(), 2);  // the batches of validation samples alone
}

TEST(Resume, IsExactAfterManyStops) {
  const auto evaluator = make_evaluator(with(adam()));
  const Trial trial = every_layer_trial();
  RecordingContext undisturbed;
  const Result expected = finish(*evaluator, trial, undisturbed);
  std::optional<TrainingState> state;
  for (const int steps : {5, 8, 9, 11}) {
    state = stop_at(*evaluator, trial, steps, state);
  }
  ASSERT_EQ(state->step, kSteps);
  expect_same(expected, resume(*evaluator, trial, *state));
}

TEST(Resume, GoesOnFromASnapshotThatDidNotDisturbTheTraining) {
  const auto evaluator = make_evaluator(with(adam()));
  const Trial trial = every_layer_trial();
  RecordingContext undisturbed;
  const Result expected = finish(*evaluator, trial, undisturbed);
  RecordingContext saving;
  saving.save_from_epoch = 1.5;  // from step 20 on, after every step: each takes the memory of the one before
  expect_same(expected, finish(*evaluator, trial, saving));
  EXPECT_EQ(saving.saves, kSteps - 20 + 1);
  EXPECT_EQ(saving.last_saved.step, kSteps);
  expect_same(expected, resume(*evaluator, trial, saving.last_saved));
}

TEST(Resume, StopsAMeasurementOfLatencyAndTakesItUpAgain) {
  const auto evaluator = make_evaluator(with(adam()), true);
  const Trial trial = every_layer_trial();
  RecordingContext undisturbed;
  const Result expected = finish(*evaluator, trial, undisturbed);
  const int passes = 5;
  EXPECT_EQ(undisturbed.polls(), kSteps + 2 + passes);
  for (int pass = 0; pass < passes; ++pass) {
    SCOPED_TRACE("stopped at pass " + std::to_string(pass));
    RecordingContext context;
    context.start_from = stop_at(*evaluator, trial, kSteps + 2 + pass);
    EXPECT_EQ(context.start_from->step, kSteps);
    expect_same(expected, finish(*evaluator, trial, context));
    EXPECT_EQ(context.polls(), 2 + passes);
  }
}

TEST(Resume, SavesNothingWhenNothingIsNew) {
  const auto evaluator = make_evaluator(with(adam()));
  const Trial trial = every_layer_trial();
  RecordingContext at_once;
  at_once.stop_after_polls = 0;
  evaluator->evaluate(trial, at_once);
  EXPECT_EQ(at_once.saves, 0);
  RecordingContext again;
  again.start_from = stop_at(*evaluator, trial, 4);
  again.stop_after_polls = 0;
  evaluator->evaluate(trial, again);
  EXPECT_EQ(again.saves, 0);
}

TEST(Resume, StartsFromTheBeginningWhereTheStateDoesNotFit) {
  const auto evaluator = make_evaluator(with(adam()));
  const Trial trial = every_layer_trial();
  RecordingContext undisturbed;
  const Result expected = finish(*evaluator, trial, undisturbed);
  const TrainingState good = stop_at(*evaluator, trial, 20);

  std::vector<TrainingState> bad(9, good);
  bad[0].step = kSteps + 1;
  bad[1].step = -1;
  bad[2].arrays[0].values.pop_back();
  bad[3].arrays[1].values.push_back(0);
  bad[4].arrays.pop_back();
  std::swap(bad[5].arrays[0], bad[5].arrays[1]);
  bad[6].numbers.clear();
  bad[7].arrays[1].name = "momentum";
  bad[8].numbers.pop_back();
  for (std::size_t i = 0; i < bad.size(); ++i) {
    SCOPED_TRACE("state " + std::to_string(i));
    RecordingContext context;
    context.start_from = bad[i];
    ::testing::internal::CaptureStderr();
    const Result result = finish(*evaluator, trial, context);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::HasSubstr("the saved state of trial 0 does not fit it: the trial starts from the "
                                     "beginning"));
    EXPECT_EQ(context.polls(), kSteps + 2);
    expect_same(expected, result);
  }
}

TEST(Resume, TakesTheMemoryOfTheSnapshotBeforeAgain) {
  const auto evaluator = make_evaluator(with(adam()));
  RecordingContext context;
  context.last_saved = stop_at(*evaluator, every_layer_trial(), 5);
  const float* parameters = context.last_saved.arrays[0].values.data();
  const float* moments = context.last_saved.arrays[1].values.data();
  context.stop_after_polls = 9;
  evaluator->evaluate(every_layer_trial(), context);
  EXPECT_EQ(context.last_saved.step, 9);
  EXPECT_EQ(context.last_saved.arrays[0].values.data(), parameters);
  EXPECT_EQ(context.last_saved.arrays[1].values.data(), moments);
}

}  // namespace
}  // namespace skyline::train
