#include "train/kernels/mix.hpp"

#include "train/fixtures/gather_batch.hpp"
#include "train/fixtures/train_fixtures.hpp"
#include "train/kernels/gather.hpp"

#include <numbers>
#include <numeric>

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

TEST(BetaTables, HaveTheQuantilesOfKnownDistributions) {
  const std::vector<float> uniform = mixup_table(1);
  const std::vector<float> arcsine = mixup_table(0.5);
  ASSERT_EQ(uniform.size(), static_cast<std::size_t>(kernels::kQuantiles));
  for (std::size_t i = 0; i < uniform.size(); ++i) {
    const double share = (static_cast<double>(i) + 0.5) / kernels::kQuantiles;
    EXPECT_NEAR(uniform[i], share, 1e-4);
    EXPECT_NEAR(arcsine[i], std::pow(std::sin(std::numbers::pi * share / 2), 2), 1e-4);
  }
}

TEST(BetaTables, HaveTheMeanAndVarianceOfAnyParameter) {
  for (const double alpha : {0.1, 0.2, 0.4, 2.0, 20.0, 100.0}) {
    const std::vector<float> table = mixup_table(alpha);
    double sum = 0;
    double squares = 0;
    for (const float share : table) {
      sum += static_cast<double>(share);
      squares += (static_cast<double>(share) - 0.5) * (static_cast<double>(share) - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(sum / kernels::kQuantiles, 0.5, 1e-6) << alpha;
    EXPECT_NEAR(squares / kernels::kQuantiles, variance, 0.02 * variance) << alpha;
  }
}

TEST(Mix, CutsBoxesThatLieInTheImageAndTellsTheShareThatIsLeft) {
  const std::vector<float> table = cutmix_table(1);
  const kernels::MixPlan plan{.cutmix = table.data(), .samples = 50};
  double share = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const kernels::MixDraw drawn = kernels::draw_mix(plan, 9, 7, seed);
    EXPECT_TRUE(drawn.other >= 0 && drawn.other < 50);
    EXPECT_FALSE(drawn.blends);
    EXPECT_TRUE(0 <= drawn.top && drawn.top <= drawn.bottom && drawn.bottom <= 9);
    EXPECT_TRUE(0 <= drawn.left && drawn.left <= drawn.right && drawn.right <= 7);
    const int cut = (drawn.bottom - drawn.top) * (drawn.right - drawn.left);
    EXPECT_FLOAT_EQ(drawn.share, static_cast<float>(63 - cut) / 63);
    share += static_cast<double>(drawn.share) / 2000;
  }
  EXPECT_NEAR(share, 0.7, 0.1);  // boxes are cut off at the rim
}

TEST(Mix, TakesTurnsWhereBothAreOn) {
  const std::vector<float> shares = mixup_table(1);
  const std::vector<float> sides = cutmix_table(1);
  int blends = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const kernels::MixDraw drawn =
        kernels::draw_mix({.mixup = shares.data(), .cutmix = sides.data(), .samples = 50}, 9, 7, seed);
    blends += drawn.blends ? 1 : 0;
    EXPECT_EQ(drawn.other, kernels::draw_mix({.mixup = shares.data(), .samples = 50}, 9, 7, seed).other);
  }
  EXPECT_NEAR(blends, 1000, 5 * std::sqrt(500.0));
}

/// A batch of the places [first, first + rows) of an order, mixed or not.
struct Gathered {
  at::Tensor images;
  std::vector<std::int64_t> targets;
  std::vector<std::int64_t> others;
  std::vector<float> shares;
};

class MixedBatch : public ::testing::Test {
 protected:
  MixedBatch() : order(40) { std::iota(order.rbegin(), order.rend(), 0); }

  Gathered gather(std::int64_t first, std::int64_t rows, bool mixup, bool cutmix) {
    const std::int64_t seed = 12345;
    const auto count = static_cast<std::size_t>(rows);
    Gathered made{at::empty({rows, 3, 8, 6},
                            at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast)),
                  std::vector<std::int64_t>(count), std::vector<std::int64_t>(count),
                  std::vector<float>(count)};
    AugmentOptions options{.crop = 1, .flip = true};
    options.brightness = options.saturation = 0.5;
    make_host_accelerator()->gather({.pixels = data.train().pixels().data(),
                                     .labels = data.train().classes().data(),
                                     .order = order.data(),
                                     .position = &first,
                                     .scaling = scaling.tables().data(),
                                     .seed = &seed,
                                     .augment = augment_plan(options, data),
                                     .mix = {mixup ? shares.data() : nullptr, cutmix ? sides.data() : nullptr,
                                             static_cast<std::int64_t>(order.size())},
                                     .channels = 3,
                                     .rows = rows,
                                     .images = made.images.mutable_data_ptr<float>(),
                                     .targets = made.targets.data(),
                                     .others = made.others.data(),
                                     .shares = made.shares.data()});
    return made;
  }

  test::BarImages data{{3, 8, 6}, 4, 40, 4};
  ValueScaling scaling{data, Normalization::kStandard};
  std::vector<std::int64_t> order;
  std::vector<float> shares = mixup_table(0.5);
  std::vector<float> sides = cutmix_table(1);
};

TEST_F(MixedBatch, BlendsEachImageWithAnotherOneOfTheEpochAsThatIsChanged) {
  const Gathered plain = gather(0, 40, false, false);
  const Gathered mixed = gather(5, 20, true, false);
  for (std::int64_t row = 0; row < 20; ++row) {
    const auto i = static_cast<std::size_t>(row);
    const kernels::MixDraw drawn = kernels::draw_mix({.mixup = shares.data(), .samples = 40}, 8, 6,
                                                     12345 + 5 + static_cast<std::uint64_t>(row));
    const at::Tensor expected =
        plain.images[5 + row].mul(drawn.share).add(plain.images[drawn.other].mul(1 - drawn.share));
    EXPECT_LT(mixed.images[row].sub(expected).abs().max().item<double>(), 1e-5);
    EXPECT_EQ(mixed.targets[i], plain.targets[i + 5]);
    EXPECT_EQ(mixed.others[i], plain.targets[static_cast<std::size_t>(drawn.other)]);
    EXPECT_EQ(mixed.shares[i], drawn.share);
  }
}

TEST_F(MixedBatch, PutsABoxOfAnotherImageIntoEach) {
  const Gathered plain = gather(0, 40, false, false);
  const Gathered mixed = gather(0, 40, false, true);
  for (std::int64_t row = 0; row < 40; ++row) {
    const kernels::MixDraw drawn = kernels::draw_mix({.cutmix = sides.data(), .samples = 40}, 8, 6,
                                                     12345 + static_cast<std::uint64_t>(row));
    at::Tensor expected = plain.images[row].clone();
    expected.slice(1, drawn.top, drawn.bottom)
        .slice(2, drawn.left, drawn.right)
        .copy_(plain.images[drawn.other].slice(1, drawn.top, drawn.bottom).slice(2, drawn.left, drawn.right));
    EXPECT_TRUE(mixed.images[row].equal(expected)) << row;
  }
}

TEST_F(MixedBatch, DependsOnThePlaceInTheEpochAlone) {
  const Gathered whole = gather(0, 40, true, true);
  const Gathered part = gather(17, 9, true, true);
  EXPECT_TRUE(part.images.equal(whole.images.narrow(0, 17, 9)));
  EXPECT_EQ(part.shares, std::vector<float>(whole.shares.begin() + 17, whole.shares.begin() + 26));
}

TEST(Colours, ChangeAsTheirFactorsSay) {
  const kernels::AugmentPlan plan{.height = 1, .width = 1, .brightness = 4096, .mean_grey = 100};
  const std::uint8_t pixel[] = {200, 100, 50};
  const auto changed = [&](double brightness, double contrast, double saturation, int channel) {
    kernels::ImageDraw draw;
    draw.brightness = static_cast<std::int32_t>(brightness * kernels::kOneFactor);
    draw.contrast = static_cast<std::int32_t>(contrast * kernels::kOneFactor);
    draw.saturation = static_cast<std::int32_t>(saturation * kernels::kOneFactor);
    return kernels::changed_pixel(plan, draw, pixel, channel, 0, 0);
  };
  for (const int channel : {0, 1, 2}) {
    const int value = pixel[channel];
    const double grey = 0.299 * 200 + 0.587 * 100 + 0.114 * 50;
    EXPECT_EQ(changed(1, 1, 1, channel), value);
    EXPECT_EQ(changed(0.5, 1, 1, channel), value / 2);
    EXPECT_NEAR(changed(1, 0.5, 1, channel), 100 + (value - 100) / 2, 1);
    EXPECT_NEAR(changed(1, 1, 0, channel), grey, 1);
    EXPECT_NEAR(changed(1, 1, 1.5, channel), grey + 1.5 * (value - grey), 1);
    EXPECT_NEAR(changed(0.5, 0.5, 0, channel), 50 + (grey / 2 - 50) / 2, 1);
  }
  EXPECT_EQ(changed(2, 1, 1, 0), 255);
}

TEST(Colours, AreDrawnUniformlyWithinTheirBounds) {
  const kernels::AugmentPlan plan{.height = 4, .width = 4, .brightness = 2048, .saturation = 1024};
  double sum = 0;
  std::int32_t least = kernels::kOneFactor;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const kernels::ImageDraw draw = kernels::draw_image(plan, seed);
    EXPECT_EQ(draw.contrast, kernels::kOneFactor);
    EXPECT_LE(std::abs(draw.brightness - kernels::kOneFactor), 2048);
    EXPECT_LE(std::abs(draw.saturation - kernels::kOneFactor), 1024);
    least = std::min(least, draw.brightness);
    sum += draw.brightness;
  }
  EXPECT_NEAR(sum / 4000, kernels::kOneFactor, 100);
  EXPECT_LT(least, 2100);
}

}  // namespace
}  // namespace skyline::train
