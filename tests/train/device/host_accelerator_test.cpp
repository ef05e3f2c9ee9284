// The CPU behind the seam of accelerators does what the CPU's own training does, to the bit.

#include "train/fixtures/gather_batch.hpp"
#include "train/fixtures/train_fixtures.hpp"
#include "train/kernels/dropout.hpp"
#include "train/kernels/gather.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::BarImages;

TEST(HostAccelerator, HasOneDevice) {
  const auto accelerator = make_host_accelerator();
  ASSERT_EQ(accelerator->devices().size(), 1U);
  EXPECT_EQ(accelerator->devices().front().target, "cpu");
  const AcceleratorMemory memory = accelerator->memory(0);
  EXPECT_GT(memory.free_bytes, 0U);
  EXPECT_GE(memory.total_bytes, memory.free_bytes);
}

TEST(HostAccelerator, DoesRecordedWorkWhenItIsReplayedAndNotBefore) {
  const auto accelerator = make_host_accelerator();
  const auto stream = accelerator->make_stream(0);
  int runs = 0;
  stream->run([&] { ++runs; });
  EXPECT_EQ(runs, 1);
  const auto graph = stream->capture([&] { ++runs; });
  EXPECT_EQ(runs, 1);
  graph->replay();
  graph->replay();
  stream->wait();
  EXPECT_EQ(runs, 3);
}

void expect_same_batch(const AugmentOptions& augment) {
  const BarImages data({3, 8, 6}, 4, 40, 4);
  const ValueScaling scaling(data, Normalization::kStandard);
  const std::vector<std::int64_t> order = {7, 39, 0, 3, 21, 11, 30};
  const std::int64_t first = 2;
  const std::int64_t rows = 4;
  const std::uint64_t first_seed = first_image_seed(5, 3);
  test::ImageChanger augmentation(augment, data.shape(), first_seed + static_cast<std::uint64_t>(first));
  const test::Batch expected = test::gather_batch(data, scaling, std::span(order).subspan(first, rows),
                                                  augment.any() ? &augmentation : nullptr);

  const auto seed = static_cast<std::int64_t>(first_seed);
  at::Tensor images =
      at::empty({rows, 3, 8, 6}, at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  std::vector<std::int64_t> targets(rows);
  make_host_accelerator()->gather({.pixels = data.train().pixels().data(),
                                   .labels = data.train().classes().data(),
                                   .order = order.data(),
                                   .position = &first,
                                   .scaling = scaling.tables().data(),
                                   .seed = augment.any() ? &seed : nullptr,
                                   .augment = augment_plan(augment, data),
                                   .mix = {},
                                   .channels = 3,
                                   .rows = rows,
                                   .images = images.mutable_data_ptr<float>(),
                                   .targets = targets.data()});
  EXPECT_TRUE(images.equal(expected.images));
  EXPECT_TRUE(std::ranges::equal(expected.labels, targets));
}

TEST(HostAccelerator, GathersTheBatchOfTheCpu) {
  expect_same_batch({});
  expect_same_batch({.crop = 2, .flip = true, .cutout = 3});
}

TEST(HostAccelerator, DropsBySeedAndPlace) {
  const std::int64_t seed = -0x123456789abcdef0;
  std::vector<float> ones(105, 1.0F);
  for (const std::uint64_t first : {0U, 3U}) {
    std::vector<float> values(105, -1.0F);
    kernels::DropoutPlan plan{
        kernels::dropout_mask(0, 0.3), &seed, values.size(), {ones.data()}, {values.data()}};
    plan.mask.first = first;
    make_host_accelerator()->dropout(plan);
    const kernels::DropoutMask seeded = kernels::dropout_mask(static_cast<std::uint64_t>(seed), 0.3);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], is_kept(seeded, first + i) ? seeded.scale : 0.0F);
    }
    EXPECT_THAT(values, ::testing::Contains(0.0F));
  }
}

}  // namespace
}  // namespace skyline::train
