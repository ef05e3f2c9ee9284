#include "train/group/gradient_exchange.hpp"

#include "train/fixtures/group_fixtures.hpp"
#include "train/fixtures/host_step.hpp"

#include <cstring>

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::NetworkBuilder;
using trial::TrainingState;

constexpr std::size_t kBatch = 7;

space::Network some_network() {
  return NetworkBuilder({2, 6, 6})
      .conv2d(8, 3)
      .batch_norm()
      .relu()
      .conv2d(12, 3)
      .batch_norm()
      .relu()
      .max_pool(2)
      .flatten()
      .linear(30)
      .relu()
      .linear(4)
      .build();
}

/// The samples of a part of batch number `step`.
at::Tensor images_of(int step, BatchPart part) {
  at::Tensor images = at::empty({static_cast<std::int64_t>(part.count), 2, 6, 6},
                                at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  RandomStream random(derive_seed(9, "images", {static_cast<std::uint64_t>(step)}));
  auto* values = images.mutable_data_ptr<float>();
  for (std::size_t i = 0; i < kBatch * 72; ++i) {
    const auto value = static_cast<float>(random.uniform());
    if (i / 72 >= part.first && i / 72 < part.first + part.count) values[i - part.first * 72] = value;
  }
  return images;
}

std::vector<std::int32_t> labels_of(BatchPart part) {
  std::vector<std::int32_t> labels;
  for (std::size_t i = part.first; i < part.first + part.count; ++i) {
    labels.push_back(static_cast<std::int32_t>(i % 4));
  }
  return labels;
}

/// The state of each member after some steps; the leader's has the whole state of the optimizer.
std::vector<TrainingState> train(std::size_t members, GroupOptions options, std::size_t bucket_bytes) {
  const space::Network network = some_network();
  std::vector<TrainingState> states(members);
  test::run_members(members, [&](std::size_t member, trial::TrialGroup& group) {
    test::HostStep step(network, {}, 3, &group, options, BucketSizes{bucket_bytes, bucket_bytes});
    for (int i = 0; i < 4; ++i) {
      const BatchPart part = part_of_batch(kBatch, members, member);
      step.step_part(images_of(i, part), labels_of(part), part, kBatch);
    }
    states[member] = step.state();
  });
  return states;
}

bool same_bits(const std::vector<float>& left, const std::vector<float>& right) {
  return left.size() == right.size() && !left.empty() &&
         std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

TEST(GradientExchange, GivesTheSameBitsInManyBucketsAsInOne) {
  for (const std::size_t members : {2U, 3U, 9U}) {  // nine share seven samples
    for (const auto statistics :
         {GroupOptions::Statistics::kLocal, GroupOptions::Statistics::kSynchronized}) {
      GroupOptions options;
      options.statistics = statistics;
      const TrainingState expected = train(members, options, std::size_t{1} << 20).front();
      for (const auto sharding : {GroupOptions::Sharding::kNone, GroupOptions::Sharding::kOptimizer,
                                  GroupOptions::Sharding::kGradients}) {
        SCOPED_TRACE(std::to_string(members) + " members, sharding " +
                     std::to_string(static_cast<int>(sharding)));
        options.sharding = sharding;
        const std::vector<TrainingState> states = train(members, options, 64);
        for (const TrainingState& state : states) {
          EXPECT_TRUE(same_bits(expected.arrays[0].values, state.arrays[0].values));
        }
        EXPECT_TRUE(same_bits(expected.arrays[1].values, states.front().arrays[1].values));
      }
    }
  }
}

TEST(GradientExchange, FillsBucketsFromTheLastLayer) {
  const space::Network network = some_network();
  ParameterStore parameters(network, 1);
  const std::vector<GradientBucket> whole = gradient_buckets(parameters, {});
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole[0].first_layer, 0U);
  EXPECT_EQ(whole[0].range.end, parameters.memory().size());

  const std::vector<GradientBucket> small = gradient_buckets(parameters, {1000, 1000});
  ASSERT_GT(small.size(), 2U);
  std::size_t end = parameters.memory().size();
  for (const GradientBucket& bucket : small) {
    EXPECT_EQ(bucket.range.end, end);
    end = bucket.range.begin;
    EXPECT_TRUE((bucket.range.end - bucket.range.begin) * sizeof(float) >= 1000 || end == 0);
  }
  EXPECT_EQ(end, 0U);
}

}  // namespace
}  // namespace skyline::train
