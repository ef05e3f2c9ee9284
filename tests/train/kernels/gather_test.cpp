#include "train/kernels/gather.hpp"

#include "train/fixtures/gather_batch.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::BarImages;

/// A batch as a device makes it, element by element.
struct DeviceBatchOnHost {
  std::vector<float> images;
  std::vector<std::int64_t> targets;
};

kernels::AugmentPlan plan_of(const AugmentOptions& options, const space::Shape& shape) {
  return {static_cast<std::int32_t>(options.crop), static_cast<std::int32_t>(options.cutout), options.flip,
          static_cast<std::int32_t>(shape.height), static_cast<std::int32_t>(shape.width)};
}

/// Does the work of the kernel's threads, one after the other.
DeviceBatchOnHost gather_by_element(kernels::GatherPlan plan) {
  const std::int32_t elements = kernels::elements_of_image(plan);
  DeviceBatchOnHost batch{std::vector<float>(static_cast<std::size_t>(plan.rows * elements)), {}};
  for (std::int64_t row = 0; row < plan.rows; ++row) {
    kernels::GatheredRow found = kernels::find_row(plan, row);
    kernels::Curves own;
    kernels::Curves others;
    find_curves(plan, found.image, own);
    find_curves(plan, found.other, others);
    batch.targets.push_back(plan.labels[found.image.sample]);
    for (std::int32_t element = 0; element < elements; ++element) {
      batch.images[static_cast<std::size_t>(row * elements + element)] =
          kernels::gathered_value(plan, found, element);
    }
  }
  return batch;
}

/// The epoch's places [first, first + rows), by the device's functions and by the CPU's.
void expect_equal_batches(const space::Shape& shape, const AugmentOptions& options, std::uint64_t trial_seed,
                          std::int64_t first, std::size_t rows) {
  const BarImages dataset(shape, 3, 40, 4);
  const ValueScaling scaling(dataset, Normalization::kStandard);
  std::vector<std::int64_t> indices(40);
  std::iota(indices.begin(), indices.end(), 0);
  const std::vector<std::int64_t> order = epoch_order(indices, trial_seed, 2);

  const std::uint64_t first_seed = first_image_seed(trial_seed, 2);
  test::ImageChanger augmentation(options, shape, first_seed + static_cast<std::uint64_t>(first));
  const test::Batch expected = test::gather_batch(
      dataset, scaling, std::span(order).subspan(static_cast<std::size_t>(first), rows), &augmentation);

  const auto seed = static_cast<std::int64_t>(first_seed);
  const DeviceBatchOnHost batch = gather_by_element({.pixels = dataset.train().pixels().data(),
                                                     .labels = dataset.train().classes().data(),
                                                     .order = order.data(),
                                                     .position = &first,
                                                     .scaling = scaling.tables().data(),
                                                     .seed = &seed,
                                                     .augment = plan_of(options, shape),
                                                     .mix = {},
                                                     .channels = static_cast<std::int32_t>(shape.channels),
                                                     .rows = static_cast<std::int64_t>(rows)});
  ASSERT_EQ(batch.images.size(), static_cast<std::size_t>(expected.images.numel()));
  EXPECT_EQ(std::memcmp(batch.images.data(), expected.images.const_data_ptr<float>(),
                        batch.images.size() * sizeof(float)),
            0)
      << "seed " << trial_seed;
  EXPECT_EQ(batch.targets, std::vector<std::int64_t>(expected.labels.begin(), expected.labels.end()));
}

TEST(Gather, AugmentsOnADeviceToTheCpusBitsForManySeeds) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    expect_equal_batches({3, 9, 7}, {.crop = 2, .flip = true, .cutout = 3}, derive_seed(seed, "trial"), 5,
                         11);
  }
}

TEST(Gather, GivesTheCpusBitsForEachOptionAlone) {
  for (const AugmentOptions& options :
       {AugmentOptions{}, AugmentOptions{.crop = 3}, AugmentOptions{.flip = true},
        AugmentOptions{.cutout = 4}, AugmentOptions{.crop = 20, .cutout = 20}}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) expect_equal_batches({1, 8, 8}, options, seed, 0, 40);
  }
}

TEST(Gather, ChangesImagesByTheirHistogramsToTheCpusBits) {
  for (const std::int64_t channels : {1, 3}) {
    const BarImages dataset({channels, 9, 7}, 3, 40, 4);
    const ValueScaling scaling(dataset, Normalization::kStandard);
    std::vector<std::int64_t> order(40);
    std::iota(order.begin(), order.end(), 0);
    const std::vector<float> shares = mixup_table(0.4);
    const std::int64_t position = 0;
    const std::int64_t seed = 5;
    std::vector<float> images(static_cast<std::size_t>(40 * channels * 9 * 7));
    std::vector<std::int64_t> targets(40);
    std::vector<std::int64_t> others(40);
    std::vector<float> kept(40);
    const kernels::GatherPlan plan{
        .pixels = dataset.train().pixels().data(),
        .labels = dataset.train().classes().data(),
        .order = order.data(),
        .position = &position,
        .scaling = scaling.tables().data(),
        .seed = &seed,
        .augment = augment_plan({.crop = 1, .trivial = 1, .trivial_operations = 14}, dataset),
        .mix = {.mixup = shares.data(), .samples = 40},
        .channels = static_cast<std::int32_t>(channels),
        .rows = 40,
        .images = images.data(),
        .targets = targets.data(),
        .others = others.data(),
        .shares = kept.data()};
    int by_histogram = 0;
    for (std::int64_t row = 0; row < plan.rows; ++row)
      by_histogram += needs_curves(kernels::find_row(plan, row).other) ? 1 : 0;
    EXPECT_GT(by_histogram, 0);
    make_host_accelerator()->gather(plan);
    EXPECT_EQ(gather_by_element(plan).images, images);
  }
}

TEST(Gather, WrapsSeedsAroundAtTheEndOfTheirRange) {
  const AugmentOptions options{.crop = 2, .flip = true};
  const space::Shape shape{1, 6, 6};
  const kernels::AugmentPlan plan = plan_of(options, shape);
  const std::int64_t last = std::numeric_limits<std::int64_t>::max();
  const std::int64_t position = 1;
  const std::int64_t order[] = {0, 0};
  const std::uint8_t pixels[36] = {};
  const std::int32_t label = 7;
  const kernels::GatheredRow found = kernels::find_row({.pixels = pixels,
                                                        .labels = &label,
                                                        .order = order,
                                                        .position = &position,
                                                        .seed = &last,
                                                        .augment = plan,
                                                        .mix = {},
                                                        .channels = 1,
                                                        .rows = 1},
                                                       0);
  const kernels::ImageDraw expected = kernels::draw_image(plan, std::uint64_t{1} << 63);
  EXPECT_EQ(found.image.draw.down, expected.down);
  EXPECT_EQ(found.image.draw.right, expected.right);
  EXPECT_EQ(found.image.sample, 0);
}

}  // namespace
}  // namespace skyline::train
