#include "train/sharing/memory_forecast.hpp"

#include "support/yaml_config.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::conv_network;
using test::with_batch;

TEST(MemoryForecast, PredictsMoreForLargerNetworksBatchesAndOptimizers) {
  const space::Network narrow = conv_network({1, 28, 28}, 4, 3, 16, 10);
  const space::Network wide = conv_network({1, 28, 28}, 4, 3, 64, 10);
  const space::Network deep = conv_network({1, 28, 28}, 8, 3, 16, 10);
  const std::size_t least = predict_device_bytes(narrow, with_batch(64));
  EXPECT_GT(predict_device_bytes(wide, with_batch(64)), least);
  EXPECT_GT(predict_device_bytes(deep, with_batch(64)), least);
  EXPECT_GT(predict_device_bytes(narrow, with_batch(128)), least);
  TrainingOptions sgd = with_batch(64);
  sgd.optimizer.kind = OptimizerOptions::Kind::kSgd;
  EXPECT_LT(predict_device_bytes(narrow, sgd), least);
}

TEST(MemoryForecast, PredictsLessForAMemberTheMoreIsSharded) {
  const space::Network network =
      test::NetworkBuilder({1, 64, 64}).flatten().linear(4096).linear(4096).build();
  TrainingOptions options = with_batch(64);
  const std::size_t whole = predict_device_bytes(network, options, 4);
  options.group.sharding = GroupOptions::Sharding::kOptimizer;
  const std::size_t optimizer = predict_device_bytes(network, options, 4);
  options.group.sharding = GroupOptions::Sharding::kGradients;
  const std::size_t gradients = predict_device_bytes(network, options, 4);
  EXPECT_LT(optimizer, whole);
  EXPECT_LT(gradients, optimizer);
  EXPECT_LT(predict_device_bytes(network, options, 8), gradients);
}

TEST(MemoryForecast, CountsABucketOfGradientsAsItsLargestLayer) {
  const space::Network network = test::NetworkBuilder({1, 64, 64}).flatten().linear(8192).linear(8).build();
  TrainingOptions options = with_batch(64);
  options.group.sharding = GroupOptions::Sharding::kGradients;
  constexpr std::size_t kLargest = std::size_t{4096} * 8192 * 4;  // bytes: nearly all
  // The values, the sums on their way, the gradients: of so many members each owns next to nothing.
  EXPECT_GT(predict_device_bytes(network, options, 1024), 3 * kLargest);
  EXPECT_LT(predict_device_bytes(network, options, 1024), 5 * kLargest);
}

TEST(MemoryForecast, PredictsForAMemberItsPartOfTheBatch) {
  const space::Network network = conv_network({1, 28, 28}, 4, 3, 16, 10);
  EXPECT_LT(predict_device_bytes(network, with_batch(1024), 4),
            predict_device_bytes(network, with_batch(1024)) / 3);
}

TEST(MemoryForecast, PredictsForAPartOfAnAccumulatedBatch) {
  const space::Network network = conv_network({1, 28, 28}, 4, 3, 16, 10);
  TrainingOptions options = with_batch(1024);
  options.accumulate = 8;
  for (const std::int64_t recalibrate : {0, 5}) {
    options.recalibrate = recalibrate;
    TrainingOptions part = options;
    part.batch = 128;
    part.accumulate = 1;
    const std::uint64_t added = predict_host_bytes(network, options) - predict_host_bytes(network, part);
    EXPECT_GT(added, 0U);
    EXPECT_LT(added, std::uint64_t{16 * 16 * 3 * 3 + 16} * 4 + 1)
        << "a layer's gradients, before they are added";
    EXPECT_LT(predict_device_bytes(network, options), predict_device_bytes(network, with_batch(1024)) / 3);
  }
}

TEST(MemoryForecast, CountsTheWholeGradientsOfEarlierPartsHoweverTheirSumIsSharded) {
  const space::Network network =
      test::NetworkBuilder({1, 64, 64}).flatten().linear(4096).linear(4096).build();
  TrainingOptions options = with_batch(64);
  options.group.sharding = GroupOptions::Sharding::kGradients;
  const std::uint64_t whole = predict_host_bytes(network, options, 4);
  options.accumulate = 4;
  EXPECT_GT(predict_host_bytes(network, options, 4), whole + (std::uint64_t{4096} * 4096 * 4));
}

TEST(MemoryForecast, CoversWhatTheForwardPassMustKeep) {
  // 4 layers of conv, batch norm and ReLU: 12 outputs of 16x28x28 floats a sample.
  const space::Network network = conv_network({1, 28, 28}, 4, 3, 16, 10);
  const std::size_t kept = std::size_t{64} * 12 * 16 * 28 * 28 * 4;
  const std::size_t predicted = predict_device_bytes(network, with_batch(64));
  EXPECT_GT(predicted, kept);
  EXPECT_LT(predicted, 2 * kept + (std::size_t{64} << 20));
}

TEST(MemoryForecast, CoversWhatRecalibrationHoldsOfTheWholeBatch) {
  space::Network network = conv_network({1, 28, 28}, 4, 3, 16, 10);
  network.cost.peak_activation_bytes = 2 * 16 * 28 * 28 * 4;
  const TrainingOptions plain = with_batch(1024);
  TrainingOptions recalibrating = plain;
  recalibrating.recalibrate = 5;
  EXPECT_GT(predict_device_bytes(network, recalibrating), predict_device_bytes(network, plain))
      << "beside the scoring that follows";
  EXPECT_GT(predict_host_bytes(network, recalibrating, 4), 2 * predict_host_bytes(network, plain, 4));
  recalibrating.group.statistics = GroupOptions::Statistics::kSynchronized;
  EXPECT_EQ(predict_host_bytes(network, recalibrating, 4), predict_host_bytes(network, plain, 4));
}

TEST(MemoryForecast, IsTheSameInBfloat16OnProcessorsWhichScoresBatchesOfTheSameSize) {
  space::Network network = conv_network({1, 28, 28}, 1, 3, 16, 10);
  network.cost.peak_activation_bytes = std::int64_t{1} << 20;
  TrainingOptions bfloat16 = with_batch(16);
  bfloat16.precision = Precision::kBf16;
  EXPECT_EQ(predict_host_bytes(network, bfloat16), predict_host_bytes(network, with_batch(16)));
}

// Measured: 16 pairs of layer_norm and attention of 8 heads took 974 MiB with batches of 32.
TEST(MemoryForecast, CoversWhatLayersKeepWithin) {
  const space::SearchSpace space = space::SearchSpace::parse(
      testing::config_from_yaml("network: [{patch_embedding: {channels: 32, patch: 2}}, {repeat: 16, body: "
                                "[{residual: [layer_norm, {multi_head_self_attention: {heads: 8}}]}]}, "
                                "global_average_pool, {linear: {features: 10}}]"),
      {{1, 28, 28}, 10});
  const space::Network network = space.build({}).network();
  EXPECT_GT(predict_host_bytes(network, with_batch(32)), std::uint64_t{974} << 20);
  EXPECT_LT(predict_host_bytes(network, with_batch(32)), std::uint64_t{2 * 974} << 20);
}

TEST(MemoryForecast, CountsAMomentOfEveryParameterOnProcessors) {
  const space::Network network =
      test::NetworkBuilder({1, 64, 64}).flatten().linear(4096).linear(4096).build();
  TrainingOptions plain = with_batch(8);
  plain.optimizer.kind = OptimizerOptions::Kind::kSgd;
  plain.optimizer.momentum = 0;
  TrainingOptions heavy = plain;
  heavy.optimizer.momentum = 0.9;
  EXPECT_EQ(predict_host_bytes(network, plain), predict_host_bytes(network, heavy));
  EXPECT_LT(predict_device_bytes(network, plain), predict_device_bytes(network, heavy));
}

TEST(MemoryForecast, CoversTheScoringOfLargerBatchesThanThoseOfTraining) {
  space::Network network = conv_network({1, 28, 28}, 1, 3, 16, 10);
  network.cost.peak_activation_bytes = 2 * 16 * 28 * 28 * 4;  // batch norm's input and output
  const auto scored = static_cast<std::size_t>(256 * network.cost.peak_activation_bytes);
  EXPECT_GT(predict_device_bytes(network, with_batch(1)), scored + (std::size_t{64} << 20));
}

}  // namespace
}  // namespace skyline::train
