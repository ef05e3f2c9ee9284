// What groups promise beside the contract of every training.
#include "train/device/host_accelerator.hpp"
#include "train/fixtures/trainings.hpp"

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::adam_options;
using test::every_layer_trial;
using test::Sharding;
using test::Statistics;
using test::Training;
using test::TrialEnd;
using test::with_group;
using trial::Phase;
using trial::Trial;

TEST(GroupTraining, LearnsWithLocalStatistics) {
  TrainingOptions options = adam_options();
  options.batch = 24;
  const Trial trial = test::make_trial(test::conv_network({2, 8, 8}, 2, 3, 16, 6), 12, 1);
  const TrialEnd alone = Training({1}, options).run(trial);
  const TrialEnd together = Training({4}, options).run(trial);
  EXPECT_GT(alone.values[test::kAccuracy], 0.95);
  EXPECT_GT(together.values[test::kAccuracy], 0.95);
  EXPECT_NE(alone.values[test::kTrainLoss], together.values[test::kTrainLoss]);
  EXPECT_NEAR(alone.values[test::kTrainLoss], together.values[test::kTrainLoss], 0.25);
}

void expect_same_bits_however_sharded(const test::Trainer& trainer, TrainingOptions options,
                                      const Trial& trial) {
  SCOPED_TRACE(std::to_string(trainer.members) + " members");
  const TrialEnd whole = Training(trainer, options).run(trial, {.save_from_epoch = 0});
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients}) {
    options.group.sharding = sharding;
    const TrialEnd sharded = Training(trainer, options).run(trial, {.save_from_epoch = 0});
    expect_same(sharded, whole);
    ASSERT_GE(sharded.saved.arrays.size(), 2U);
    EXPECT_TRUE(test::same_bits(whole.saved.arrays[0].values, sharded.saved.arrays[0].values));
    EXPECT_TRUE(test::same_bits(whole.saved.arrays[1].values, sharded.saved.arrays[1].values));
  }
}

TEST(GroupTraining, HasTheSameBitsHoweverTheStateIsSharded) {
  for (const TrainingOptions& options : {adam_options(), test::sgd_options()}) {
    for (const std::size_t members : {2U, 3U, 4U}) {
      expect_same_bits_however_sharded({members}, options, every_layer_trial(31));
    }
  }
}

TEST(GroupTraining, HasTheSameBitsWithTheWholeRecipeHoweverItIsSharded) {
  TrainingOptions options = test::whole_recipe(with_group(adam_options(), Statistics::kSynchronized));
  options.optimizer.kind = OptimizerOptions::Kind::kAdamW;
  expect_same_bits_however_sharded({3}, options, every_layer_trial(39, Phase::kFinal));
}

TEST(GroupTraining, HasTheSameBitsOnADeviceHoweverItIsSharded) {
  expect_same_bits_however_sharded({3, make_host_accelerator()}, adam_options(), every_layer_trial(39));
}

TEST(GroupTraining, HasTheSameBitsInBfloat16HoweverItIsSharded) {
  TrainingOptions options = with_group(test::sgd_options(), Statistics::kSynchronized);
  options.precision = Precision::kBf16;
  const Trial trial = test::make_trial(test::wide_network(), 1.5, 5);
  expect_same_bits_however_sharded({2}, options, trial);
  EXPECT_NEAR(Training({2}, options).run(trial).values[test::kTrainLoss],
              Training({1}, options).run(trial).values[test::kTrainLoss], 0.1);
}

TEST(GroupTraining, SavesWhatAnyShardingGoesOnFrom) {
  const Trial trial = every_layer_trial(39);
  const Training whole({4}, adam_options());
  const Training sharded({4}, with_group(adam_options(), Statistics::kLocal, Sharding::kGradients));
  expect_same(whole.resume(trial, sharded.stop(trial, 11, {.stopped_by = 2})), whole.run(trial));
}

TEST(GroupTraining, ScoresWithTheBitsOfOneMember) {
  const Trial trial = every_layer_trial(26, Phase::kFinal);
  const TrialEnd alone = Training({1}, adam_options()).run(trial, {.save_from_epoch = 1});
  for (const std::size_t members : {2U, 3U, 5U}) {
    expect_same(Training({members}, adam_options()).resume(trial, alone.saved),
                alone);  // after the last step
  }
}

}  // namespace
}  // namespace skyline::train
