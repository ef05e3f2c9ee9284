#include "skyline/core/random.hpp"

#include "train/kernels/batch_norm_kernels.hpp"
#include "train/kernels/cross_entropy.hpp"
#include "train/kernels/dropout.hpp"
#include "train/kernels/optimizer_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::train::kernels {
namespace {

std::vector<float> random_values(std::size_t count, std::uint64_t seed, double offset = 0) {
  RandomStream random(seed);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(),
                [&] { return static_cast<float>(offset + 2 * random.uniform() - 1); });
  return values;
}

TEST(BatchStatistics, AgreeWithTheirDefinitionForAnyNumberOfChannels) {
  for (const std::size_t channels : {1U, 5U, 8U, 16U, 25U, 48U, 64U, 127U}) {
    const std::size_t rows = 331;
    const std::vector<float> input = random_values(rows * channels, channels, 3);
    std::vector<float> mean(channels);
    std::vector<float> variance(channels);
    batch_statistics(input.data(), rows, channels, mean.data(), variance.data());
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0;
      double square_sum = 0;
      for (std::size_t r = 0; r < rows; ++r) sum += static_cast<double>(input[r * channels + c]);
      for (std::size_t r = 0; r < rows; ++r) {
        square_sum += std::pow(static_cast<double>(input[r * channels + c]) - sum / rows, 2);
      }
      EXPECT_NEAR(mean[c], sum / rows, 1e-6) << c << " of " << channels;
      EXPECT_NEAR(variance[c], square_sum / rows, 1e-6) << c << " of " << channels;
    }
  }
}

TEST(BatchStatistics, KeepTheirAccuracyFarFromZero) {
  // Variance 1/3 around 1000: sums of plain squares in float would leave nothing of it.
  const std::vector<float> input = random_values(16 * 4096, 3, 1000);
  std::vector<float> mean(16);
  std::vector<float> variance(16);
  batch_statistics(input.data(), 4096, 16, mean.data(), variance.data());
  for (std::size_t c = 0; c < 16; ++c) {
    EXPECT_NEAR(mean[c], 1000, 0.05);
    EXPECT_NEAR(variance[c], 1.0 / 3, 0.02);
  }
}

TEST(ScaleShift, PoolsWhatItWouldWrite) {
  const std::size_t samples = 3;
  const std::size_t pixels = 17;
  for (const std::size_t channels : {3U, 16U, 40U, 64U}) {
    const std::vector<float> input = random_values(samples * pixels * channels, 5);
    const std::vector<float> scale = random_values(channels, 6);
    const std::vector<float> shift = random_values(channels, 7);
    std::vector<float> whole(input.size());
    std::vector<float> pooled(samples * channels);
    scale_shift(input.data(), samples * pixels, channels, scale.data(), shift.data(), true, whole.data());
    scale_shift_pool(input.data(), samples, pixels, channels, scale.data(), shift.data(), true,
                     pooled.data());
    for (std::size_t s = 0; s < samples; ++s) {
      for (std::size_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (std::size_t p = 0; p < pixels; ++p) {
          const std::size_t at = (s * pixels + p) * channels + c;
          EXPECT_EQ(whole[at], std::max(0.0F, input[at] * scale[c] + shift[c]));
          sum += static_cast<double>(whole[at]);
        }
        EXPECT_NEAR(pooled[s * channels + c], sum / static_cast<double>(pixels), 1e-6);
      }
    }
  }
}

TEST(CrossEntropy, ScoresAndDifferentiates) {
  const std::vector<float> logits = {1, 2, 3, 0, 0, 0};
  const std::vector<std::int64_t> labels = {2, 1};
  std::vector<float> gradient(6);
  const BatchScore score = cross_entropy(logits.data(), {labels.data()}, {}, 2, 3, gradient.data(), 2);
  EXPECT_EQ(score.correct, 1);  // of equal logits the first one counts
  EXPECT_NEAR(score.loss_sum, std::log(1 + std::exp(-1) + std::exp(-2)) + std::log(3), 1e-12);
  const double total = std::exp(1) + std::exp(2) + std::exp(3);
  EXPECT_NEAR(gradient[0], std::exp(1) / total / 2, 1e-7);
  EXPECT_NEAR(gradient[2], (std::exp(3) / total - 1) / 2, 1e-7);
  EXPECT_NEAR(gradient[4], (1.0 / 3 - 1) / 2, 1e-7);
}

TEST(CrossEntropy, StaysFiniteForLargeLogitsAndShowsNaN) {
  const std::vector<std::int64_t> label = {1};
  const std::vector<float> large = {1e30F, -1e30F};
  EXPECT_NEAR(cross_entropy(large.data(), {label.data()}, {}, 1, 2, nullptr, 1).loss_sum, 2e30, 1e24);
  const std::vector<float> broken = {0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(std::isnan(cross_entropy(broken.data(), {label.data()}, {}, 1, 2, nullptr, 1).loss_sum));
}

TEST(OptimizerKernels, FollowTheFormulasInAnyLength) {
  for (const std::size_t count : {1U, 7U, 33U, 100U}) {
    const std::vector<float> gradient = random_values(count, 1);
    const std::vector<float> start = random_values(count, 2);
    std::vector<float> value = start;
    std::vector<float> first(count, 0.0F);
    std::vector<float> second(count, 0.0F);
    adam({.beta1 = 0.9F,
          .beta2 = 0.999F,
          .epsilon = 1e-8F,
          .weight_decay = 0,
          .kept = 1,
          .step_size = 0.01F / 0.1F,
          .inverse_root_correction = static_cast<float>(1 / std::sqrt(0.001))},
         count, gradient.data(), value.data(), first.data(), second.data());
    std::vector<float> moved = start;
    std::vector<float> velocity(count, 1.0F);
    sgd({.learning_rate = 0.1F, .momentum = 0.5F, .weight_decay = 0, .nesterov = false}, count,
        gradient.data(), moved.data(), velocity.data());
    for (std::size_t i = 0; i < count; ++i) {
      // Adam's first step is the learning rate, against the gradient's sign.
      EXPECT_NEAR(value[i], start[i] - (gradient[i] > 0 ? 0.01F : -0.01F), 1e-5);
      EXPECT_NEAR(moved[i], start[i] - 0.1F * (0.5F + gradient[i]), 1e-6);
    }
  }
}

TEST(Dropout, AgreesWithItsDefinitionForAnyCountAndInPlace) {
  for (const double probability : {0.0, 0.1, 0.5, 0.99}) {
    const DropoutMask mask = dropout_mask(77, probability);
    for (const std::size_t count : {1U, 31U, 32U, 33U, 100U, 257U}) {
      const std::vector<float> input = random_values(count, count);
      std::vector<float> output(count);
      dropout(mask, count, input.data(), output.data());
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(output[i], is_kept(mask, i) ? input[i] * mask.scale : 0.0F) << i << " of " << count;
      }
      std::vector<float> in_place = input;
      dropout(mask, count, in_place.data(), in_place.data());
      EXPECT_EQ(in_place, output);
    }
  }
}

TEST(Dropout, DropsItsShareAndKeepsTheMean) {
  const std::size_t count = 1U << 20U;
  const std::vector<float> ones(count, 1.0F);
  std::vector<float> output(count);
  for (const double probability : {0.1, 0.5, 0.9}) {
    dropout(dropout_mask(3, probability), count, ones.data(), output.data());
    const auto dropped = static_cast<double>(std::count(output.begin(), output.end(), 0.0F));
    const double deviation = std::sqrt(probability * (1 - probability) / count);
    EXPECT_NEAR(dropped / count, probability, 4 * deviation);
    EXPECT_NEAR(*std::max_element(output.begin(), output.end()), 1 / (1 - probability), 1e-5);
  }
}

TEST(Dropout, DrawsElementsIndependently) {
  // Of the four cases of two neighbours, and of two seeds at one place, each has its share.
  const std::size_t count = 1U << 18U;
  const DropoutMask mask = dropout_mask(3, 0.5);
  const DropoutMask next_seed = dropout_mask(4, 0.5);
  std::array<double, 4> neighbours{};
  std::array<double, 4> seeds{};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t kept = is_kept(mask, i) ? 1 : 0;
    neighbours[2 * kept + (is_kept(mask, i + 1) ? 1 : 0)] += 1.0 / count;
    seeds[2 * kept + (is_kept(next_seed, i) ? 1 : 0)] += 1.0 / count;
  }
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(neighbours[c], 0.25, 0.005);
    EXPECT_NEAR(seeds[c], 0.25, 0.005);
  }
}

TEST(Dropout, NumbersTheSequenceOfSplitMix64) {
  // Of seed 1234567, as published with the generator's reference implementation.
  EXPECT_EQ(split_mix_at(1234567, 0), 6457827717110365317U);
  EXPECT_EQ(split_mix_at(1234567, 1), 3203168211198807973U);
  EXPECT_EQ(split_mix_at(1234567, 2), 9817491932198370423U);
}

TEST(Dropout, DrawsInAPartOfABatchWhatTheBatchDraws) {
  const std::vector<float> ones(200, 1.0F);
  std::vector<float> whole(200);
  dropout(dropout_mask(5, 0.4), 200, ones.data(), whole.data());
  for (const std::size_t first : {1U, 2U, 33U, 75U, 199U}) {
    DropoutMask mask = dropout_mask(5, 0.4);
    mask.first = first;
    std::vector<float> part(200 - first);
    dropout(mask, part.size(), ones.data(), part.data());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)));
  }
}

TEST(BatchStatistics, FindZerosWhereThereAreNoRows) {
  std::vector<double> moments(6, 7.0);
  batch_moments(nullptr, 0, 3, moments.data(), moments.data() + 3);
  EXPECT_EQ(moments, std::vector<double>(6, 0.0));
}

}  // namespace
}  // namespace skyline::train::kernels
