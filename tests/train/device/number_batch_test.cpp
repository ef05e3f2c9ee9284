// Batches of numbers, sequences and rows of targets, changed and mixed: against their definition.

#include "train/batches/batch_source.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/kernels/gather.hpp"
#include "train/kernels/mix.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

constexpr std::int64_t kSamples = 9;
constexpr std::int64_t kSeed = 77;

struct NumberBatch {
  at::Tensor images;
  at::Tensor targets;
};

/// All samples in their order: `values` [samples, channels, height, width], `labels` [samples, outputs].
struct NumberSet {
  at::Tensor values = at::rand({kSamples, 2, 1, 8});
  at::Tensor labels = at::rand({kSamples, 3});
  at::Tensor scaling = at::tensor({0.25F, 2.0F, -1.0F, 0.5F}).view({2, 2});
  std::vector<float> mixup = {};
  std::vector<float> cutmix = {};

  NumberBatch gather(bool changed, kernels::AugmentPlan plan = {}) const {
    std::vector<std::int64_t> order(kSamples);
    std::iota(order.begin(), order.end(), 0);
    const std::int64_t position = 0;
    NumberBatch made{at::empty(values.sizes(),
                               at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast)),
                     at::empty(labels.sizes(), at::kFloat)};
    plan.height = 1;
    plan.width = 8;
    make_host_accelerator()->gather(
        {.numbers = values.const_data_ptr<float>(),
         .label_rows = labels.const_data_ptr<float>(),
         .order = order.data(),
         .position = &position,
         .scaling = scaling.const_data_ptr<float>(),
         .seed = changed ? &kSeed : nullptr,
         .augment = plan,
         .mix = {mixup.empty() ? nullptr : mixup.data(), cutmix.empty() ? nullptr : cutmix.data(), kSamples},
         .channels = 2,
         .outputs = 3,
         .rows = kSamples,
         .images = made.images.mutable_data_ptr<float>(),
         .target_rows = made.targets.mutable_data_ptr<float>()});
    return made;
  }
};

TEST(NumberBatches, AreScaledPerChannel) {
  const NumberSet set;
  const NumberBatch made = set.gather(false);
  EXPECT_TRUE(made.targets.equal(set.labels));
  for (std::int64_t c = 0; c < 2; ++c) {
    const float mean = set.scaling[c][0].item<float>();
    const at::Tensor expected = (set.values.select(1, c) - mean) * set.scaling[c][1].item<float>();
    EXPECT_TRUE(made.images.select(1, c).equal(expected));
  }
  EXPECT_TRUE(set.gather(true).images.equal(made.images));
}

TEST(NumberBatches, OfSequencesMoveAlongTheLengthAlone) {
  const NumberSet set;
  const NumberBatch plain = set.gather(false);
  kernels::AugmentPlan plan{.crop = 3, .cutout = 2, .flip = true, .height = 1, .width = 8};
  const NumberBatch made = set.gather(true, plan);
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    const kernels::ImageDraw draw = kernels::draw_image(plan, static_cast<std::uint64_t>(kSeed + sample));
    for (std::int64_t x = 0; x < 8; ++x) {
      const std::int64_t source = (draw.mirrored ? 7 - x : x) + draw.right;
      const bool hole = x >= draw.hole_left && x < draw.hole_left + 2;
      for (std::int64_t c = 0; c < 2; ++c) {
        const float blank = -set.scaling[c][0].item<float>() * set.scaling[c][1].item<float>();
        const bool kept = source >= 0 && source < 8 && !hole;
        EXPECT_EQ(made.images[sample][c][0][x].item<float>(),
                  kept ? plain.images[sample][c][0][source].item<float>() : blank);
      }
    }
  }
}

TEST(NumberBatches, MixTargetsAsTheyMixSamples) {
  for (const bool cuts : {false, true}) {
    NumberSet set;
    (cuts ? set.cutmix : set.mixup) = cuts ? cutmix_table(1) : mixup_table(1);
    const NumberBatch plain = set.gather(false);
    const NumberBatch made = set.gather(true);
    const kernels::MixPlan plan{cuts ? nullptr : set.mixup.data(), cuts ? set.cutmix.data() : nullptr,
                                kSamples};
    bool cut_some = false;
    for (std::int64_t sample = 0; sample < kSamples; ++sample) {
      const kernels::MixDraw draw = kernels::draw_mix(plan, 1, 8, static_cast<std::uint64_t>(kSeed + sample));
      const double share = static_cast<double>(draw.share);
      const at::Tensor targets = set.labels[sample] * share + set.labels[draw.other] * (1 - share);
      EXPECT_TRUE(made.targets[sample].allclose(targets));
      at::Tensor expected = plain.images[sample] * share + plain.images[draw.other] * (1 - share);
      if (cuts) {
        EXPECT_NEAR(share, 1 - (draw.right - draw.left) / 8.0, 1e-6);
        cut_some = cut_some || draw.right > draw.left;
        expected = plain.images[sample].clone();
        expected.narrow(2, draw.left, draw.right - draw.left)
            .copy_(plain.images[draw.other].narrow(2, draw.left, draw.right - draw.left));
      }
      EXPECT_TRUE(made.images[sample].allclose(expected));
    }
    EXPECT_EQ(cut_some, cuts);
  }
}

}  // namespace
}  // namespace skyline::train
