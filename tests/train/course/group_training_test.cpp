// Several members train a trial as one would, with the same outcome on each of them.
#include "train/fixtures/group_trials.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::adam;
using test::every_layer_trial;
using test::GroupRun;
using test::kAccuracy;
using test::kEpochSteps;
using test::kLatency;
using test::kTrainLoss;
using test::kValidationLoss;
using test::make_evaluator;
using test::make_trial;
using test::NetworkBuilder;
using test::RecordingContext;
using test::sgd;
using test::Sharding;
using test::Statistics;
using trial::Failure;
using trial::FailureKind;
using trial::Measurements;
using trial::Outcome;
using trial::TrainingState;
using trial::Trial;

/// The result of a trial: measurements without the latency, weights, and the sum of losses after each step.
struct Result {
  std::vector<double> values;
  std::vector<trial::NamedTensor> weights;
  std::vector<double> loss_sums;
  TrainingState last;
};

Result result_of(const Outcome& outcome, const RecordingContext& context) {
  const auto* measured = std::get_if<Measurements>(&outcome);
  EXPECT_NE(measured, nullptr) << std::get<Failure>(outcome).reason;
  Result result{measured == nullptr ? std::vector<double>(6, -1) : measured->values, context.kept,
                context.loss_sums, context.last_saved};
  result.values[kLatency] = 0;
  return result;
}

/// By one member; saved after every step.
Result train_alone(const TrainingOptions& options, const Trial& trial) {
  RecordingContext context;
  context.wants = true;
  context.save_from_epoch = 0;
  const Outcome outcome = make_evaluator(options)->evaluate(trial, context);
  return result_of(outcome, context);
}

Result train_together(const TrainingOptions& options, const Trial& trial, std::size_t members) {
  GroupRun run(members);
  run.leader().save_from_epoch = 0;
  run.evaluate(*make_evaluator(options), trial);
  for (std::size_t m = 1; m < members; ++m) {
    const Result other = result_of(run.outcomes[m], run.contexts[m]);
    EXPECT_EQ(::testing::PrintToString(other.values),
              ::testing::PrintToString(result_of(run.outcomes[0], run.contexts[0]).values));
    EXPECT_EQ(run.contexts[m].saves, 0);
    EXPECT_TRUE(run.contexts[m].kept.empty());
  }
  return result_of(run.outcomes[0], run.contexts[0]);
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
    EXPECT_TRUE(same_bits(expected.weights[i].values, result.weights[i].values)) << result.weights[i].name;
  }
}

/// Largest difference, relative to the largest value.
double relative_difference(const std::vector<float>& left, const std::vector<float>& right) {
  double scale = 1e-6;
  double difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    scale = std::max(scale, std::abs(static_cast<double>(right[i])));
    difference = std::max(difference, std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i])));
  }
  return difference / scale;
}

void expect_close(const Result& alone, const Result& together, double tolerance) {
  ASSERT_EQ(alone.loss_sums.size(), together.loss_sums.size());
  for (std::size_t step = 0; step < alone.loss_sums.size(); ++step) {
    EXPECT_NEAR(alone.loss_sums[step], together.loss_sums[step], tolerance * (1 + alone.loss_sums[step]))
        << "step " << step + 1;
  }
  EXPECT_NEAR(alone.values[kValidationLoss], together.values[kValidationLoss], 10 * tolerance);
  ASSERT_EQ(alone.weights.size(), together.weights.size());
  for (std::size_t i = 0; i < alone.weights.size(); ++i) {
    EXPECT_LT(relative_difference(together.weights[i].values, alone.weights[i].values), 10 * tolerance)
        << alone.weights[i].name;
  }
}

TEST(GroupTraining, IsThatOfOneMemberWithSynchronizedStatistics) {
  const Trial trial = every_layer_trial(1.5);
  const Result alone = train_alone(sgd(Statistics::kSynchronized), trial);
  EXPECT_EQ(alone.loss_sums.size(), 39U);
  for (const std::size_t members : {2U, 3U, 4U}) {
    SCOPED_TRACE(std::to_string(members) + " members");
    expect_close(alone, train_together(sgd(Statistics::kSynchronized), trial, members), 1e-4);
  }
}

TEST(GroupTraining, IsThatOfOneMemberWithAdamAndAugmentedImages) {
  TrainingOptions options = adam(Statistics::kSynchronized);
  options.augment = {2, true, 3};
  const Trial trial = every_layer_trial(0.5);
  const Result alone = train_alone(options, trial);
  for (const std::size_t members : {2U, 3U, 4U}) {
    SCOPED_TRACE(std::to_string(members) + " members");
    expect_close(alone, train_together(options, trial, members), 1e-3);
  }
}

TrainingOptions whole_recipe(TrainingOptions options) {
  options.optimizer.decayed = OptimizerOptions::Decayed::kWeights;
  options.optimizer.clip_norm = 0.5;
  options.augment = {.crop = 2, .flip = true, .mixup = 0.4, .cutmix = 1};
  options.loss = test::soft_cross_entropy();
  options.recalibrate = 3;
  options.full = {.average = 0.9, .keep = FinalTrainingOptions::Keep::kBest, .patience = 3};
  return options;
}

TEST(GroupTraining, IsThatOfOneMemberWithTheWholeRecipe) {
  Trial trial = every_layer_trial(0.5);
  trial.proposal.trains = trial.number;
  const TrainingOptions options = whole_recipe(sgd(Statistics::kSynchronized));  // Adam scales rounding up
  const Result alone = train_alone(options, trial);
  for (const std::size_t members : {2U, 3U}) {
    SCOPED_TRACE(std::to_string(members) + " members");
    expect_close(alone, train_together(options, trial, members), 1e-4);
  }
}

TEST(GroupTraining, HasTheSameBitsWithTheWholeRecipeHoweverItIsSharded) {
  Trial trial = every_layer_trial(1.5);
  trial.proposal.trains = trial.number;
  TrainingOptions options = whole_recipe(adam(Statistics::kSynchronized));
  options.optimizer.kind = OptimizerOptions::Kind::kAdamW;
  const Result expected = train_together(options, trial, 3);
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients}) {
    options.group.sharding = sharding;
    expect_same(expected, train_together(options, trial, 3));
  }
}

TEST(GroupTraining, NeedsNoSynchronizationWithoutBatchStatistics) {
  const Trial trial = make_trial(
      NetworkBuilder({2, 8, 8}).conv2d(8, 3).relu().max_pool(2).dropout(0.3).flatten().linear(6).build(), 2,
      5);
  const Result alone = train_alone(sgd(Statistics::kLocal), trial);
  expect_close(alone, train_together(sgd(Statistics::kLocal), trial, 3), 1e-4);
}

TEST(GroupTraining, LearnsWithLocalStatistics) {
  TrainingOptions options = adam(Statistics::kLocal);
  options.batch = 24;
  const Trial trial = make_trial(test::conv_network({2, 8, 8}, 2, 3, 16, 6), 12, 1);
  const Result alone = train_alone(options, trial);
  const Result together = train_together(options, trial, 4);
  EXPECT_GT(alone.values[kAccuracy], 0.95);
  EXPECT_GT(together.values[kAccuracy], 0.95);
  EXPECT_NE(alone.values[kTrainLoss], together.values[kTrainLoss]);
  EXPECT_NEAR(alone.values[kTrainLoss], together.values[kTrainLoss], 0.25);
}

TEST(GroupTraining, GivesTheSameBitsAgain) {
  for (const Statistics statistics : {Statistics::kLocal, Statistics::kSynchronized}) {
    const Result first = train_together(adam(statistics), every_layer_trial(1.2), 3);
    expect_same(first, train_together(adam(statistics), every_layer_trial(1.2), 3));
  }
}

TEST(GroupTraining, GivesTheSameBitsHoweverTheStateIsSharded) {
  for (const auto& make : {adam, sgd}) {
    for (const std::size_t members : {2U, 3U, 4U}) {
      SCOPED_TRACE(std::to_string(members) + " members");
      const Trial trial = every_layer_trial(1.2);
      const Result whole = train_together(make(Statistics::kLocal, Sharding::kNone), trial, members);
      for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients}) {
        const Result sharded = train_together(make(Statistics::kLocal, sharding), trial, members);
        expect_same(whole, sharded);
        ASSERT_EQ(sharded.last.arrays.size(), 2U);
        EXPECT_TRUE(same_bits(whole.last.arrays[0].values, sharded.last.arrays[0].values));
        EXPECT_TRUE(same_bits(whole.last.arrays[1].values, sharded.last.arrays[1].values));
      }
    }
  }
}

/// Stops when `member` has asked `polls` times, and returns what the leader saved then.
TrainingState stop_at(const TrainingOptions& options, const Trial& trial, std::size_t members,
                      std::size_t member, int polls) {
  GroupRun run(members);
  run.contexts[member].stop_after_polls = polls;
  run.evaluate(*make_evaluator(options), trial);
  for (std::size_t m = 0; m < members; ++m) {
    const auto* failure = std::get_if<Failure>(&run.outcomes[m]);
    EXPECT_NE(failure, nullptr);
    if (failure != nullptr) {
      EXPECT_EQ(failure->kind, FailureKind::kStopped);
      EXPECT_EQ(failure->reason, std::get<Failure>(run.outcomes[0]).reason);
    }
    EXPECT_EQ(run.contexts[m].saves, m == 0 ? 1 : 0);
  }
  return run.leader().last_saved;
}

Result resume(const TrainingOptions& options, const Trial& trial, std::size_t members,
              const TrainingState& state) {
  GroupRun run(members);
  run.leader().start_from = state;
  run.evaluate(*make_evaluator(options), trial);
  return result_of(run.outcomes[0], run.contexts[0]);
}

TEST(GroupTraining, GoesOnToTheBitFromWhereAnyMemberStoppedIt) {
  for (const Sharding sharding : {Sharding::kNone, Sharding::kOptimizer, Sharding::kGradients}) {
    const TrainingOptions options = adam(Statistics::kLocal, sharding);
    const Trial trial = every_layer_trial(1.5);
    const Result expected = train_together(options, trial, 3);
    std::size_t member = 0;
    // Each member is asked once before the first step, then after each.
    for (const int step : {1, 7, kEpochSteps - 1, kEpochSteps, kEpochSteps + 1, 39}) {
      SCOPED_TRACE("stopped after step " + std::to_string(step));
      const TrainingState state = stop_at(options, trial, 3, member++ % 3, step);
      EXPECT_EQ(state.step, step);
      expect_same(expected, resume(options, trial, 3, state));
    }
  }
}

TEST(GroupTraining, SavesWhatAnyShardingGoesOnFrom) {
  const Trial trial = every_layer_trial(1.5);
  const TrainingState state = stop_at(adam(Statistics::kLocal, Sharding::kGradients), trial, 4, 2, 11);
  const Result expected = train_together(adam(Statistics::kLocal), trial, 4);
  expect_same(expected, resume(adam(Statistics::kLocal), trial, 4, state));
}

TEST(GroupTraining, ScoresWithTheBitsOfOneMember) {
  const TrainingOptions options = adam(Statistics::kLocal);
  Trial trial = every_layer_trial(1);
  trial.proposal.trains = trial.number;
  RecordingContext alone;
  alone.wants = true;
  alone.save_from_epoch = 1;
  const Result expected = result_of(make_evaluator(options)->evaluate(trial, alone), alone);
  for (const std::size_t members : {2U, 3U, 5U}) {
    expect_same(expected, resume(options, trial, members, alone.last_saved));  // after the last step
  }
}

TEST(GroupTraining, StartsFromTheBeginningWhereTheLeadersStateDoesNotFit) {
  const TrainingOptions options = adam(Statistics::kLocal);
  const Trial trial = every_layer_trial(0.5);
  TrainingState state = stop_at(options, trial, 2, 0, 3);
  state.arrays[1].values.pop_back();
  ::testing::internal::CaptureStderr();
  const Result result = resume(options, trial, 2, state);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("starts from the beginning"));
  expect_same(train_together(options, trial, 2), result);
}

TEST(GroupTraining, InheritsWhatTheLeaderWasGiven) {
  const TrainingOptions options = sgd(Statistics::kSynchronized);
  Trial trial = every_layer_trial(0.1);
  RecordingContext parent;
  parent.wants = true;
  make_evaluator(options)->evaluate(every_layer_trial(2), parent);
  const auto weights = std::make_shared<const std::vector<trial::NamedTensor>>(parent.kept);
  trial.proposal.start = trial::Inherit{0, trial.proposal.architecture, 1.0};
  RecordingContext alone;
  alone.wants = true;
  alone.save_from_epoch = 0;
  alone.parents = weights;
  const Result expected = result_of(make_evaluator(options)->evaluate(trial, alone), alone);
  GroupRun run(3);
  run.leader().save_from_epoch = 0;
  run.leader().parents = weights;
  run.evaluate(*make_evaluator(options), trial);
  expect_close(expected, result_of(run.outcomes[0], run.leader()), 1e-4);
}

}  // namespace
}  // namespace skyline::train
