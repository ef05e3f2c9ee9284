#include "skyline/core/random.hpp"

#include "train/kernels/batch_norm_kernels.hpp"
#include "train/kernels/chunks.hpp"
#include "train/kernels/cross_entropy.hpp"
#include "train/kernels/dropout.hpp"
#include "train/kernels/optimizer_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
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

Values of(const std::vector<float>& values) {
  return {const_cast<float*>(values.data())};
}
Values of(const std::vector<BFloat16>& values) {
  return {const_cast<BFloat16*>(values.data()), true};
}

std::vector<BFloat16> halves_of(const std::vector<float>& values) {
  std::vector<BFloat16> halves(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) of(halves).set(i, values[i]);
  return halves;
}
std::vector<float> floats_of(const std::vector<BFloat16>& halves) {
  std::vector<float> values(halves.size());
  for (std::size_t i = 0; i < halves.size(); ++i) values[i] = of(halves).at(i);
  return values;
}
/// Rounds values to bfloat16 and back.
std::vector<float> rounded(const std::vector<float>& values) {
  return floats_of(halves_of(values));
}

TEST(BatchStatistics, AgreeWithTheirDefinitionForAnyNumberOfChannels) {
  for (const std::size_t channels : {1U, 5U, 8U, 16U, 25U, 48U, 64U, 127U}) {
    const std::size_t rows = 331;
    const std::vector<float> input = random_values(rows * channels, channels, 3);
    std::vector<double> mean(channels);
    std::vector<double> variance(channels);
    batch_moments(of(input), rows, channels, mean.data(), variance.data());
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
  std::vector<double> mean(16);
  std::vector<double> variance(16);
  batch_moments(of(input), 4096, 16, mean.data(), variance.data());
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
    scale_shift(of(input), samples * pixels, channels, scale.data(), shift.data(), true, of(whole));
    scale_shift_pool(of(input), samples, pixels, channels, scale.data(), shift.data(), true, of(pooled));
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
  const double loss_sum = cross_entropy(logits.data(), {labels.data()}, {}, 2, 3, gradient.data(), 2);
  EXPECT_NEAR(loss_sum, std::log(1 + std::exp(-1) + std::exp(-2)) + std::log(3), 1e-12);
  const double total = std::exp(1) + std::exp(2) + std::exp(3);
  EXPECT_NEAR(gradient[0], std::exp(1) / total / 2, 1e-7);
  EXPECT_NEAR(gradient[2], (std::exp(3) / total - 1) / 2, 1e-7);
  EXPECT_NEAR(gradient[4], (1.0 / 3 - 1) / 2, 1e-7);
}

TEST(CrossEntropy, StaysFiniteForLargeLogitsAndShowsNaN) {
  const std::vector<std::int64_t> label = {1};
  const std::vector<float> large = {1e30F, -1e30F};
  EXPECT_NEAR(cross_entropy(large.data(), {label.data()}, {}, 1, 2, nullptr, 1), 2e30, 1e24);
  const std::vector<float> broken = {0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(std::isnan(cross_entropy(broken.data(), {label.data()}, {}, 1, 2, nullptr, 1)));
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
      dropout(mask, count, of(input), of(output));
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(output[i], is_kept(mask, i) ? input[i] * mask.scale : 0.0F) << i << " of " << count;
      }
      std::vector<float> in_place = input;
      dropout(mask, count, of(in_place), of(in_place));
      EXPECT_EQ(in_place, output);
    }
  }
}

TEST(Dropout, DropsItsShareAndKeepsTheMean) {
  const std::size_t count = 1U << 20U;
  const std::vector<float> ones(count, 1.0F);
  std::vector<float> output(count);
  for (const double probability : {0.1, 0.5, 0.9}) {
    dropout(dropout_mask(3, probability), count, of(ones), of(output));
    const auto dropped = static_cast<double>(std::count(output.begin(), output.end(), 0.0F));
    const double deviation = std::sqrt(probability * (1 - probability) / count);
    EXPECT_NEAR(dropped / count, probability, 4 * deviation);
    EXPECT_NEAR(*std::max_element(output.begin(), output.end()), 1 / (1 - probability), 1e-5);
  }
}

TEST(Dropout, DrawsElementsIndependently) {
  // All four cases of two neighbours, and of two seeds at one place, are equally frequent.
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
  // These values for seed 1234567 were published with the generator's reference implementation.
  EXPECT_EQ(split_mix_at(1234567, 0), 6457827717110365317U);
  EXPECT_EQ(split_mix_at(1234567, 1), 3203168211198807973U);
  EXPECT_EQ(split_mix_at(1234567, 2), 9817491932198370423U);
}

TEST(Dropout, DrawsInAPartOfABatchWhatTheBatchDraws) {
  const std::vector<float> ones(200, 1.0F);
  std::vector<float> whole(200);
  dropout(dropout_mask(5, 0.4), 200, of(ones), of(whole));
  for (const std::size_t first : {1U, 2U, 33U, 75U, 199U}) {
    DropoutMask mask = dropout_mask(5, 0.4);
    mask.first = first;
    std::vector<float> part(200 - first);
    dropout(mask, part.size(), of(ones), of(part));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)));
  }
}

TEST(BFloat16, RoundsToTheNearestAndToEvenInTheMiddle) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(rounded({0.0F, -0.0F, 1.0F, 1.00390625F, 1.01171875F, 1.0040F, 3.4e38F, -infinity}),
              ::testing::ElementsAre(0.0F, -0.0F, 1.0F, 1.0F, 1.015625F, 1.0078125F, infinity, -infinity));
  EXPECT_TRUE(std::isnan(rounded({std::numeric_limits<float>::quiet_NaN()}).front()));
}

TEST(BFloat16, KeepsEveryNumberThroughAKernel) {
  std::vector<BFloat16> all(1U << 16U);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint16_t>(i);
  for (const std::size_t channels : {1U, 8U, 16U}) {
    const std::vector<float> one(channels, 1.0F), nothing(channels, -0.0F);
    std::vector<BFloat16> output(all.size());
    scale_shift(of(all), all.size() / channels, channels, one.data(), nothing.data(), false, of(output));
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(output[i].bits, std::isnan(of(all).at(i)) ? 0x7fc0U : i) << channels << " channels";
    }
  }
}

/// All results of the kernels for one problem, as floats.
struct KernelResults {
  std::vector<double> sums;
  std::vector<std::vector<float>> values;
  bool operator==(const KernelResults&) const = default;
};

/// @param halves  arrays of activations are bfloat16
KernelResults run_all(std::size_t samples, std::size_t pixels, std::size_t channels, bool halves) {
  const std::size_t rows = samples * pixels;
  const auto per_channel = [&](std::uint64_t seed) { return random_values(channels, seed, 1); };
  KernelResults results;
  const auto run = [&]<typename T>(std::vector<T> input, std::vector<T> gradient, const auto& to_floats) {
    const std::vector<float> scale = per_channel(3), shift = per_channel(4), mean = per_channel(5);
    results.sums.resize(8 * channels);
    double* sums = results.sums.data();
    batch_moments(of(input), rows, channels, sums, sums + channels);
    std::vector<T> output(input.size()), pooled(samples * channels), slopes(input.size());
    scale_shift(of(input), rows, channels, scale.data(), shift.data(), true, of(output));
    scale_shift_pool(of(input), samples, pixels, channels, scale.data(), shift.data(), true, of(pooled));
    for (const std::size_t share : {std::size_t{1}, pixels}) {
      const BatchNormBackward problem{of(input), of(gradient), rows,         channels,    share,
                                      true,      mean.data(),  scale.data(), shift.data()};
      sums += 2 * channels;
      backward_sums(problem, sums, sums + channels);
      backward_apply(problem, scale.data(), shift.data(), mean.data(), of(slopes));
      results.values.push_back(to_floats(slopes));
    }
    dropout(dropout_mask(9, 0.3), output.size(), of(output), of(output));
    for (const auto& values : {output, pooled}) results.values.push_back(to_floats(values));
  };
  const std::vector<float> input = rounded(random_values(rows * channels, 1, 0.5));
  const std::vector<float> gradient = rounded(random_values(rows * channels, 2));
  if (halves) {
    run(halves_of(input), halves_of(gradient), floats_of);
  } else {
    run(input, gradient, [](const std::vector<float>& values) { return values; });
    std::vector<float> value = input, first(input.size(), 0.5F), second(input.size(), 0.25F);
    adam({0.9F, 0.99F, 1e-8F, 0.1F, 1, 0.1F, 1}, value.size(), gradient.data(), value.data(), first.data(),
         second.data());
    sgd({0.1F, 0.9F, 0.1F, true}, value.size(), gradient.data(), value.data(), first.data());
    for (const auto& values : {value, first, second}) results.values.push_back(values);
  }
  return results;
}

TEST(Kernels, ComputeTheSameInBfloat16ButForTheRoundingOfResults) {
  for (const std::size_t channels : {1U, 8U, 21U, 64U, 120U}) {
    const KernelResults full = run_all(3, 35, channels, false);
    const KernelResults half = run_all(3, 35, channels, true);
    EXPECT_EQ(half.sums, full.sums) << channels;
    EXPECT_EQ(half.values[0], rounded(full.values[0])) << channels;
    EXPECT_EQ(half.values[1], rounded(full.values[1])) << channels;
    EXPECT_EQ(half.values[3], rounded(full.values[3])) << channels;
    for (std::size_t i = 0; i < full.values[2].size(); ++i) {  // dropout scales what was rounded
      EXPECT_NEAR(half.values[2][i], full.values[2][i], 0.01 * std::abs(full.values[2][i]));
    }
  }
}

TEST(Kernels, HaveTheSameBitsForAnyNumberOfThreads) {
  for (const bool halves : {false, true}) {
    for (const std::size_t channels : {3U, 24U, 96U}) {
      at::set_num_threads(1);
      const KernelResults alone = run_all(37, 131, channels, halves);
      for (const int threads : {2, 3}) {
        at::set_num_threads(threads);
        EXPECT_GT(threads_for(37 * 131, channels), channels < 24 ? 0U : 1U);
        EXPECT_TRUE(run_all(37, 131, channels, halves) == alone) << channels << ", " << threads;
      }
    }
  }
  at::set_num_threads(1);
}

TEST(BatchStatistics, FindZerosWhereThereAreNoRows) {
  std::vector<double> moments(6, 7.0);
  batch_moments({}, 0, 3, moments.data(), moments.data() + 3);
  EXPECT_EQ(moments, std::vector<double>(6, 0.0));
}

}  // namespace
}  // namespace skyline::train::kernels
