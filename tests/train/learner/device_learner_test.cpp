// Training on a device, on the CPU behind the seam of accelerators, against the host's own training.
#include "skyline/train/layer_op.hpp"

#include "train/fixtures/learner_fixtures.hpp"
#include "train/fixtures/watched_accelerator.hpp"
#include "train/ops/fusing_op.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <thread>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::adam;
using test::conv_network;
using test::GroupEnd;
using test::kSmallBuckets;
using test::make_setup;
using test::make_trial;
using test::NetworkBuilder;
using test::same_arrays;
using test::same_values;
using test::sgd;
using test::soon;
using test::train;
using test::train_group;
using test::train_on_device;
using test::Trained;
using test::WatchedAccelerator;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::FloatNear;
using ::testing::Pointwise;
using Sharding = GroupOptions::Sharding;

space::Network learner_network() {
  return NetworkBuilder({2, 8, 8})
      .conv2d(16, 3)
      .batch_norm()
      .relu()
      .max_pool(2)
      .dropout(0.2)
      .conv2d(8, 1)
      .relu()
      .batch_norm()
      .flatten()
      .linear(24)
      .relu()
      .dropout(0.5)
      .linear(6)
      .build();
}

double largest_difference(const std::vector<trial::NamedTensor>& left,
                          const std::vector<trial::NamedTensor>& right) {
  EXPECT_EQ(left.size(), right.size());
  double largest = 0;
  for (std::size_t t = 0; t < std::min(left.size(), right.size()); ++t) {
    EXPECT_EQ(left[t].name, right[t].name);
    EXPECT_EQ(left[t].dims, right[t].dims);
    for (std::size_t i = 0; i < left[t].values.size(); ++i) {
      largest = std::max(largest, static_cast<double>(std::abs(left[t].values[i] - right[t].values[i])));
    }
  }
  return largest;
}

/// Losses, tensors and scores of both after some steps.
void expect_agreement(const space::Network& network, const TrainingOptions& options, std::int64_t steps,
                      double tolerance) {
  const trial::Trial trial = make_trial(network, 3, 11);
  const TrainingSetup host_setup = make_setup(options, nullptr);
  const TrainingSetup device_setup = make_setup(options, make_host_accelerator());
  const auto host = test::make_learner(host_setup, trial);
  const auto device = test::make_learner(device_setup, trial, nullptr, soon());
  EXPECT_TRUE(same_values(host->export_tensors(), device->export_tensors()));
  EXPECT_THAT(train(*device, device_setup, trial, 0, steps),
              Pointwise(DoubleNear(tolerance), train(*host, host_setup, trial, 0, steps)));
  EXPECT_LT(largest_difference(device->export_tensors(), host->export_tensors()), tolerance);
  const std::span<const std::int64_t> unseen = std::span(device_setup.split.validation).first(60);
  for (const SampleSet set : {SampleSet::kTrain, SampleSet::kTest}) {
    const auto indices = set == SampleSet::kTrain ? unseen : std::span(device_setup.test_indices);
    const ScoredBatch expected = host->score(set, indices);
    const ScoredBatch score = device->score(set, indices);
    EXPECT_NEAR(score.loss_sum, expected.loss_sum, 60 * 20 * tolerance);
    EXPECT_THAT(score.outputs, Pointwise(FloatNear(static_cast<float>(50 * tolerance)), expected.outputs));
  }
}

TEST(DeviceLearner, AgreesWithTheHostsLearnerOverAnEpoch) {
  expect_agreement(conv_network({2, 8, 8}, 2, 3, 12, 6), sgd(), 15, 2e-3);
  expect_agreement(learner_network(), sgd(), 15, 2e-3);
  expect_agreement(learner_network(), adam(), 5, 2e-3);
}

TEST(DeviceLearner, AgreesWithTheHostsLearnerForEveryOptionOfTheOptimizers) {
  TrainingOptions plain = sgd();
  plain.optimizer.momentum = 0;
  plain.optimizer.weight_decay = 1e-2;
  expect_agreement(learner_network(), plain, 15, 2e-3);
  TrainingOptions nesterov = sgd();
  nesterov.optimizer.nesterov = true;
  expect_agreement(learner_network(), nesterov, 15, 3e-3);
  TrainingOptions decoupled = adam();
  decoupled.optimizer.kind = OptimizerOptions::Kind::kAdamW;
  decoupled.optimizer.decoupled_decay = 0.5;
  decoupled.optimizer.decayed = OptimizerOptions::Decayed::kWeights;
  expect_agreement(learner_network(), decoupled, 5, 2e-3);
  TrainingOptions decayed = adam();
  decayed.optimizer.weight_decay = 1e-2;
  expect_agreement(learner_network(), decayed, 5, 2e-3);
}

TEST(DeviceLearner, AgreesWithTheHostsLearnerOnAugmentedImages) {
  TrainingOptions options = sgd();
  options.augment = {.crop = 2, .flip = true, .cutout = 3};
  expect_agreement(learner_network(), options, 15, 2e-3);
}

TEST(DeviceLearner, AgreesWithTheHostsLearnerOnMixedImagesAndSoftTargets) {
  TrainingOptions options = sgd();
  options.augment = {.crop = 1, .mixup = 0.4, .cutmix = 1};
  options.loss = test::soft_cross_entropy();
  options.problem.counts = {60, 30, 15, 30, 120, 30};
  expect_agreement(learner_network(), options, 15, 2e-3);
}

TEST(DeviceLearner, AgreesWithTheHostsLearnerOnScheduledRates) {
  TrainingOptions options = sgd();
  options.schedule = {0.5, ScheduleOptions::Decay::kCosine};
  const trial::Trial trial = make_trial(learner_network(), 1.2, 11);
  expect_agreement(learner_network(), options, 15, 2e-3);
  const Trained scheduled = train_on_device(options, trial, 15, soon());
  const Trained constant = train_on_device(sgd(), trial, 15, soon());
  EXPECT_EQ(scheduled.losses.front(), constant.losses.front());
  EXPECT_GT(largest_difference(scheduled.tensors, constant.tensors), 0.01);
}

space::Network norm_of_vectors() {
  return NetworkBuilder({2, 8, 8}).flatten().linear(8).batch_norm().relu().linear(6).build();
}

TEST(DeviceLearner, AgreesWithTheHostsLearnerWhereABatchNormSeesOneRow) {
  TrainingOptions options = sgd();
  options.batch = 101;  // 203 samples: the third batch is one
  expect_agreement(norm_of_vectors(), options, 3, 2e-3);
}

TEST(DeviceLearner, OfAGroupKeepsStatisticsWhereEachMemberHasOneRow) {
  TrainingOptions options = sgd();
  options.batch = 3;
  const GroupEnd end = train_group(options, 3, kSmallBuckets, soon(), {.network = norm_of_vectors()});
  for (const auto& state : end.states) {
    for (const auto& array : state.arrays) {
      EXPECT_THAT(array.values, Each(::testing::Truly([](float value) { return std::isfinite(value); })));
    }
    EXPECT_THAT(state.arrays[2 + 4].values, ::testing::Contains(::testing::Not(FloatNear(0, 1e-3F))));
    // One row has no variance: what there was stays.
    EXPECT_THAT(state.arrays[2 + 5].values, Each(1.0F));
  }
}

TEST(DeviceLearner, LeavesABiasInFrontOfABatchNormAlone) {
  const trial::Trial trial = make_trial(conv_network({2, 8, 8}, 1, 3, 8, 6), 1, 3);
  const auto before = train_on_device(adam(), trial, 0, soon()).tensors;
  const auto after = train_on_device(adam(), trial, 10, soon()).tensors;
  ASSERT_EQ(before[1].name, "conv2d_0.bias");
  EXPECT_EQ(before[1].values, after[1].values);
  EXPECT_NE(before[0].values, after[0].values);
}

TEST(DeviceLearner, GoesOnFromASavedStateToTheSameBits) {
  const trial::Trial trial = make_trial(learner_network(), 3, 5);
  for (const TrainingOptions& options : {adam(), sgd()}) {
    const Trained whole = train_on_device(options, trial, 30, soon());
    const TrainingSetup setup = make_setup(options, make_host_accelerator());
    for (const std::int64_t stop : {5, 13, 20}) {
      trial::TrainingState state;
      const auto first = test::make_learner(setup, trial, nullptr, soon());
      train(*first, setup, trial, 0, stop);
      first->save_state(state);
      EXPECT_EQ(state.step, stop);
      const auto second = test::make_learner(setup, trial, nullptr, soon());
      ASSERT_TRUE(second->load_state(state));
      const std::vector<double> losses = train(*second, setup, trial, stop, 30 - stop);
      EXPECT_TRUE(
          std::ranges::equal(losses, std::span(whole.losses).subspan(static_cast<std::size_t>(stop))));
      EXPECT_TRUE(same_values(second->export_tensors(), whole.tensors)) << "stopped in step " << stop;
    }
  }
}

TEST(DeviceLearner, TakesUpAStateOfTheHostsLearner) {
  const trial::Trial trial = make_trial(learner_network(), 3, 5);
  const TrainingSetup host_setup = make_setup(adam(), nullptr);
  const TrainingSetup device_setup = make_setup(adam(), make_host_accelerator());
  const auto host = test::make_learner(host_setup, trial);
  const auto device = test::make_learner(device_setup, trial, nullptr, soon());
  train(*host, host_setup, trial, 0, 7);
  trial::TrainingState state;
  host->save_state(state);
  ASSERT_TRUE(device->load_state(state));
  EXPECT_TRUE(same_values(host->export_tensors(), device->export_tensors()));
  trial::TrainingState back;
  device->save_state(back);
  ASSERT_EQ(back.arrays.size(), state.arrays.size());
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    EXPECT_EQ(back.arrays[i].values, state.arrays[i].values) << state.arrays[i].name;
  }
  EXPECT_THAT(train(*device, device_setup, trial, 7, 3),
              Pointwise(DoubleNear(2e-3), train(*host, host_setup, trial, 7, 3)));
}

TEST(DeviceLearner, IgnoresAStateThatDoesNotFit) {
  const TrainingSetup setup = make_setup(adam(), make_host_accelerator());
  const trial::Trial other = make_trial(conv_network({2, 8, 8}, 1, 3, 8, 6), 1, 3);
  trial::TrainingState state;
  test::make_learner(setup, other)->save_state(state);
  const trial::Trial trial = make_trial(learner_network(), 1, 3);
  const auto learner = test::make_learner(setup, trial);
  const auto before = learner->export_tensors();
  EXPECT_FALSE(learner->load_state(state));
  EXPECT_FALSE(learner->load_state({}));
  EXPECT_TRUE(same_values(before, learner->export_tensors()));
}

TEST(DeviceLearner, ScoresFullAndPartialBatchesAlike) {
  const trial::Trial trial = make_trial(learner_network(), 1, 3);
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  const TrainingSetup setup = make_setup(adam(), accelerator);
  RecordingPolicy policy = soon();
  policy.runs_before = 1;
  const auto learner = test::make_learner(setup, trial, nullptr, policy);
  const std::span<const std::int64_t> indices = setup.split.validation;
  const std::size_t full = learner->evaluation_batch();
  ASSERT_GE(indices.size(), 2 * full);
  const ScoredBatch plain = learner->score(SampleSet::kTrain, indices.first(full));
  const ScoredBatch replayed = learner->score(SampleSet::kTrain, indices.first(full));
  EXPECT_EQ(accelerator->counts.replays, 1);
  EXPECT_EQ(plain.loss_sum, replayed.loss_sum);
  EXPECT_EQ(plain.outputs, replayed.outputs);
  double loss_sum = 0;
  std::vector<float> outputs;
  for (std::size_t first = 0; first < full; first += 100) {
    const auto part =
        learner->score(SampleSet::kTrain, indices.subspan(first, std::min<std::size_t>(100, full - first)));
    loss_sum += part.loss_sum;
    outputs.insert(outputs.end(), part.outputs.begin(), part.outputs.end());
  }
  EXPECT_NEAR(loss_sum, plain.loss_sum, 1e-3);
  EXPECT_THAT(outputs, Pointwise(FloatNear(1e-4F), plain.outputs));
}

/// Keeps something of its parameters for inference, of which it has none here.
class PreparedOp final : public FusingOp {
 public:
  at::Tensor reference(const Activations& inputs, bool /*training*/) override { return inputs[0]; }
  bool may_be_recorded() const override { return true; }
  at::Tensor forward(const Activations& inputs) override { return inputs[0]; }
  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override { return {gradient}; }
  void prepare_inference() override { is_prepared_ = true; }
  at::Tensor infer(const Activations& inputs) override {
    EXPECT_TRUE(std::exchange(is_prepared_, false));
    return inputs[0];
  }

 private:
  bool is_prepared_ = false;
};

TEST(DeviceLearner, PreparesEachPassOfARecordedValidation) {
  register_layer_op("prepared", [](const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
    return std::unique_ptr<LayerOp>(std::make_unique<PreparedOp>());
  });
  const trial::Trial trial =
      make_trial(test::NetworkBuilder({2, 8, 8}).plain("prepared").flatten().linear(6).build(), 1, 3);
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  const TrainingSetup setup = make_setup(adam(), accelerator);
  const auto learner = test::make_learner(setup, trial, nullptr, soon());
  const std::span<const std::int64_t> indices = setup.split.validation;
  for (const std::size_t count : {learner->evaluation_batch(), std::size_t{7}}) {
    for (int pass = 0; pass < 4; ++pass) learner->score(SampleSet::kTrain, indices.first(count));
  }
  EXPECT_EQ(accelerator->counts.captures, 1);
}

TEST(DeviceLearner, DoesNotRecordValidationThatScoresAFewBatches) {
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  TrainingSetup setup = make_setup(adam(), accelerator);
  setup.split.scored = {setup.split.validation.begin(), setup.split.validation.begin() + 100};
  const trial::Trial trial = make_trial(learner_network(), 1, 3);
  const auto learner = test::make_learner(setup, trial, nullptr, soon());
  for (int pass = 0; pass < 4; ++pass) {
    learner->score(SampleSet::kTrain, std::span(setup.split.validation).first(learner->evaluation_batch()));
  }
  EXPECT_EQ(accelerator->counts.captures, 0);
}

TEST(DeviceLearner, MeasuresTheHeldBatch) {
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  const TrainingSetup setup = make_setup(adam(), accelerator);
  const trial::Trial trial = make_trial(learner_network(), 1, 3);
  const auto learner = test::make_learner(setup, trial, nullptr, soon());
  for (const int repeats : {5, 3}) {  // the second batch is another one, and is recorded anew
    learner->set_latency_batch(std::vector<std::int64_t>{1, 2, 3});
    for (int i = 0; i < repeats; ++i) learner->run_latency_batch();
  }
  EXPECT_EQ(accelerator->counts.captures, 2);
  EXPECT_EQ(accelerator->counts.replays, 3 + 1);
}

TEST(DeviceLearner, StartsFromImportedValues) {
  const TrainingSetup setup = make_setup(adam(), make_host_accelerator());
  const trial::Trial trial = make_trial(learner_network(), 1, 3);
  const trial::Trial other = make_trial(learner_network(), 1, 4);
  const auto learner = test::make_learner(setup, trial);
  const auto values = test::make_learner(setup, other)->export_tensors();
  learner->import_tensors(values);
  EXPECT_TRUE(same_values(learner->export_tensors(), values));
}

TEST(DeviceLearner, KeepsOneStreamForAllTrialsOfAThread) {
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  const TrainingSetup setup = make_setup(adam(), accelerator);
  const trial::Trial trial = make_trial(learner_network(), 1, 3);
  test::make_learner(setup, trial);
  test::make_learner(setup, trial);
  EXPECT_EQ(accelerator->counts.streams, 1);
  const auto first = test::make_learner(setup, trial);
  const auto second = test::make_learner(setup, trial);
  EXPECT_EQ(accelerator->counts.streams, 1);
}

TEST(DeviceLearner, HasAStreamOfItsThread) {
  const auto accelerator = std::make_shared<WatchedAccelerator>();
  const TrainingSetup setup = make_setup(adam(), accelerator);
  DeviceDataset& context = *setup.on_device;
  const AcceleratorStream* const own = &context.stream();
  const AcceleratorStream* others = nullptr;
  std::thread([&] { others = &context.stream(); }).join();
  EXPECT_NE(others, own);
  EXPECT_EQ(&context.stream(), own);
  EXPECT_EQ(accelerator->counts.streams, 2);
}

TEST(DeviceLearner, OfAGroupHasTheSameBitsHoweverItsStateIsSharded) {
  using Statistics = GroupOptions::Statistics;
  for (const std::size_t members : {2U, 3U, 18U}) {  // 18 members share 16 samples: two have none
    for (TrainingOptions options : {adam(), sgd()}) {
      options.group.statistics = options.optimizer.kind == OptimizerOptions::Kind::kAdam
                                     ? Statistics::kSynchronized
                                     : Statistics::kLocal;
      const GroupEnd expected = train_group(options, members, {}, {});
      for (const Sharding sharding : {Sharding::kNone, Sharding::kOptimizer, Sharding::kGradients}) {
        SCOPED_TRACE(std::to_string(members) + " members, sharding " +
                     std::to_string(static_cast<int>(sharding)));
        options.group.sharding = sharding;
        const GroupEnd end = train_group(options, members, kSmallBuckets);
        EXPECT_EQ(end.losses, expected.losses);
        EXPECT_TRUE(same_arrays(end.states[0], expected.states[0]));
        for (std::size_t member = 1; member < members; ++member) {
          EXPECT_TRUE(same_arrays(end.states[member], expected.states[member]));
        }
      }
    }
  }
}

TEST(DeviceLearner, OfAGroupGoesOnFromAStateWithAnotherSharding) {
  TrainingOptions options = adam();
  const GroupEnd whole = train_group(options, 3, {});
  const std::array<Sharding, 4> turns = {Sharding::kGradients, Sharding::kNone, Sharding::kOptimizer,
                                         Sharding::kGradients};
  for (std::size_t turn = 0; turn + 1 < turns.size(); ++turn) {
    options.group.sharding = turns[turn];
    const GroupEnd first = train_group(options, 3, kSmallBuckets, soon(), {0, 6, nullptr});
    trial::TrainingState state = first.states[0];
    state.arrays.resize(2);
    options.group.sharding = turns[turn + 1];
    const GroupEnd second = train_group(options, 3, kSmallBuckets, soon(), {6, 9, &state});
    EXPECT_TRUE(same_arrays(second.states[0], whole.states[0]));
  }
}

TEST(DeviceLearner, OfAGroupWithSynchronizedStatisticsIsThatOfOneMember) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    TrainingOptions options = sgd();
    options.optimizer.learning_rate = 0.02;
    options.precision = precision;
    options.group.statistics = GroupOptions::Statistics::kSynchronized;
    const double tolerance = precision == Precision::kFp32 ? 1e-4 : 0.05;
    const Trained alone = train_on_device(options, make_trial(test::every_layer(), 3, 5), 15, {});
    for (const std::size_t members : {2U, 3U, 4U}) {
      const GroupEnd end = train_group(options, members, kSmallBuckets);
      EXPECT_THAT(end.losses, Pointwise(DoubleNear(tolerance), alone.losses)) << members;
      for (std::size_t t = 0; t < alone.tensors.size(); ++t) {
        EXPECT_THAT(end.states[0].arrays[2 + t].values,
                    Pointwise(FloatNear(static_cast<float>(tolerance)), alone.tensors[t].values))
            << alone.tensors[t].name;
      }
    }
  }
}

TEST(DeviceLearner, LearnsInBfloat16WithWeightsInFloat32) {
  TrainingOptions options = adam();
  options.precision = Precision::kBf16;
  const trial::Trial trial = make_trial(learner_network(), 3, 5);
  const Trained half = train_on_device(options, trial, 39, soon());
  const Trained plain = train_on_device(options, trial, 39, {});
  const Trained full = train_on_device(adam(), trial, 39, {});
  EXPECT_EQ(half.losses, plain.losses);
  EXPECT_NE(half.losses.front(), full.losses.front());
  EXPECT_NEAR(half.losses.front(), full.losses.front(), 0.05);
  EXPECT_LT(half.losses.back(), 0.8 * half.losses.front());
  const auto has_more_bits = [](float value) { return (std::bit_cast<std::uint32_t>(value) & 0xffffU) != 0; };
  EXPECT_TRUE(std::ranges::any_of(half.tensors.front().values, has_more_bits));
}

}  // namespace
}  // namespace skyline::train
