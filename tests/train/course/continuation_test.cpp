// A trial that continues another one ends as one that had the larger budget from the start.
#include "skyline/core/error.hpp"

#include "train/evaluator/training_evaluator.hpp"
#include "train/fixtures/group_fixtures.hpp"
#include "train/fixtures/train_fixtures.hpp"
#include "train/fixtures/watched_accelerator.hpp"

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::every_layer;
using test::GroupRun;
using test::make_trial;
using test::RecordingContext;
using test::WatchedAccelerator;
using trial::Failure;
using trial::Measurements;
using trial::Outcome;
using trial::TrainingState;
using trial::Trial;

// 202 samples in batches of 8: 26 steps an epoch, the last one with 2 samples.
constexpr int kEpochSteps = 26;

/// With everything that depends on how far the training is: steps, epochs, rates, moments.
TrainingOptions full_options() {
  TrainingOptions options;
  options.batch = 8;
  options.optimizer.learning_rate = 0.01;
  options.optimizer.kind = OptimizerOptions::Kind::kAdamW;
  options.optimizer.clip_norm = 1;
  options.augment.crop = 2;
  options.augment.mixup = 0.2;
  options.loss = test::soft_cross_entropy();
  options.recalibrate = 4;
  options.schedule.warmup = 0.5;
  options.schedule.decay = ScheduleOptions::Decay::kCosine;
  return options;
}

TrainingOptions in(Precision precision) {
  TrainingOptions options = full_options();
  options.precision = precision;
  return options;
}

/// @param on_device  of tests; else the CPU
std::unique_ptr<trial::Evaluator> evaluator_of(const TrainingOptions& options, bool on_device = false) {
  DeviceUse use;
  if (on_device) use.accelerator = std::make_shared<WatchedAccelerator>();
  return make_training_evaluator(options, Normalization::kStandard, test::bars(), test::split_in_two(202, 90),
                                 false, use);
}

/// @param steps    budget
/// @param horizon  in steps too
Trial trial_of(int steps, int horizon, Precision precision = Precision::kFp32) {
  Trial trial = make_trial(precision == Precision::kBf16 ? test::wide_network() : every_layer(),
                           static_cast<double>(steps) / kEpochSteps, 5);
  trial.proposal.horizon.epochs = static_cast<double>(horizon) / kEpochSteps;
  return trial;
}

/// What has to be the same: measurements and course as text, for NaN and for messages, and weights.
struct Result {
  std::string values;
  std::vector<trial::NamedTensor> weights;
  std::optional<TrainingState> left;
};

Result result_of(const Outcome& outcome, const RecordingContext& context) {
  if (const auto* failure = std::get_if<Failure>(&outcome)) return {failure->reason, {}, context.left};
  Result result{"", context.kept, context.left};
  for (const double value : std::get<Measurements>(outcome).values) {
    result.values += ::testing::PrintToString(value) + ' ';
  }
  for (const trial::CoursePoint& point : context.course) {
    result.values += ::testing::PrintToString(std::vector{static_cast<double>(point.step), point.train_loss,
                                                          point.learning_rate, point.validation_loss});
  }
  return result;
}

Result evaluate(trial::Evaluator& evaluator, const Trial& trial, std::optional<TrainingState> start = {}) {
  RecordingContext context;
  context.wants = true;
  context.start_from = std::move(start);
  return result_of(evaluator.evaluate(trial, context), context);
}

void expect_same(const Result& result, const Result& expected) {
  EXPECT_EQ(result.values, expected.values);
  ASSERT_EQ(result.weights.size(), expected.weights.size());
  for (std::size_t i = 0; i < expected.weights.size(); ++i) {
    EXPECT_EQ(result.weights[i].values, expected.weights[i].values) << expected.weights[i].name;
  }
}

TEST(Continuation, EndsInTheBitsOfOneLongTraining) {
  struct Variant {
    const char* name;
    TrainingOptions options;
    bool on_device;
  };
  for (const Variant& variant :
       {Variant{"fp32", in(Precision::kFp32), false}, Variant{"bf16", in(Precision::kBf16), false},
        Variant{"fp32 on a device", in(Precision::kFp32), true},
        Variant{"bf16 on a device", in(Precision::kBf16), true}}) {
    SCOPED_TRACE(variant.name);
    const auto evaluator = evaluator_of(variant.options, variant.on_device);
    constexpr int kHorizon = 2 * kEpochSteps + 12;
    const Result whole = evaluate(*evaluator, trial_of(kHorizon, kHorizon, variant.options.precision));
    EXPECT_FALSE(whole.left) << "nobody may continue it";
    // Amid an epoch, at its end and right after it.
    Result part;
    for (const int steps : {5, kEpochSteps, kEpochSteps + 1, kHorizon}) {
      part = evaluate(*evaluator, trial_of(steps, kHorizon, variant.options.precision), part.left);
      EXPECT_EQ(part.left ? part.left->step : kHorizon, steps);
    }
    expect_same(part, whole);
  }
}

TEST(Continuation, TakesUpTheScheduleOfTheHorizonAndNotOfTheBudget) {
  const auto evaluator = evaluator_of(full_options());
  const Result short_one = evaluate(*evaluator, trial_of(20, 20));
  const Result part_of_long = evaluate(*evaluator, trial_of(20, 60));
  EXPECT_NE(short_one.weights.front().values, part_of_long.weights.front().values);
}

TEST(Continuation, ThatIsStoppedAndResumedEndsInTheSameBits) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const auto evaluator = evaluator_of(in(precision));
    const Trial trial = trial_of(40, 40, precision);
    const Result whole = evaluate(*evaluator, trial);
    const Result first = evaluate(*evaluator, trial_of(15, 40, precision));
    for (const int polls : {1, 11, 20}) {
      RecordingContext stopped;
      stopped.start_from = first.left;
      stopped.stop_after_polls = polls;
      const Outcome outcome = evaluator->evaluate(trial, stopped);
      EXPECT_EQ(std::get<Failure>(outcome).kind, trial::FailureKind::kStopped);
      EXPECT_EQ(stopped.last_saved.step, 15 + polls);
      expect_same(evaluate(*evaluator, trial, stopped.last_saved), whole);
    }
  }
}

TEST(Continuation, OfAGroupThatShardsEndsInTheSameBits) {
  TrainingOptions options = full_options();
  options.group.sharding = GroupOptions::Sharding::kGradients;
  options.group.statistics = GroupOptions::Statistics::kSynchronized;
  const auto evaluator = evaluator_of(options);
  const auto train = [&](int steps, std::optional<TrainingState> start) {
    GroupRun run(3);
    run.leader().start_from = std::move(start);
    run.evaluate(*evaluator, trial_of(steps, 40));
    for (std::size_t member = 1; member < 3; ++member) EXPECT_FALSE(run.contexts[member].left);
    return result_of(run.outcomes.front(), run.leader());
  };
  const Result whole = train(40, {});
  const Result first = train(17, {});
  ASSERT_TRUE(first.left);
  expect_same(train(40, first.left), whole);
}

TEST(Continuation, DivergesInTheStepInWhichOneLongTrainingDoes) {
  constexpr int kHorizon = 30;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    TrainingOptions options;
    options.batch = 8;
    options.precision = precision;
    options.optimizer.kind = OptimizerOptions::Kind::kSgd;
    int continued = 0;
    for (const double rate : {3.0, 100.0, 1e9}) {
      options.optimizer.learning_rate = rate;
      const auto evaluator = evaluator_of(options, precision == Precision::kBf16);  // where steps are queued
      const std::string expected = evaluate(*evaluator, trial_of(kHorizon, kHorizon)).values;
      if (!expected.starts_with("loss became")) continue;
      const int step = std::stoi(expected.substr(expected.rfind(' ')));
      for (int steps = 1; steps < kHorizon; ++steps) {
        const Result part = evaluate(*evaluator, trial_of(steps, kHorizon));
        EXPECT_TRUE(steps < step || part.values == expected) << "the part fails alike";
        if (part.weights.empty()) continue;  // it failed, perhaps on held-out data
        ++continued;
        EXPECT_EQ(evaluate(*evaluator, trial_of(kHorizon, kHorizon), part.left).values, expected)
            << "continued after step " << steps << ", rate " << rate;
      }
    }
    EXPECT_GT(continued, 0);
  }
}

TEST(Continuation, IsExpectedToCostWhatIsLeft) {
  const auto evaluator = evaluator_of(full_options());
  Trial trial = trial_of(52, 52);
  const double whole = evaluator->predicted_cost(trial);
  trial.proposal.start = trial::Continue{.from = 0, .epochs = 1};
  EXPECT_LT(evaluator->predicted_cost(trial), 0.6 * whole);
  EXPECT_GT(evaluator->predicted_cost(trial), 0.4 * whole);
}

}  // namespace
}  // namespace skyline::train
