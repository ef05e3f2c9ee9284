#include "train/batches/batch_source.hpp"

#include "skyline/core/random.hpp"

#include "train/kernels/mix.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace skyline::train {
namespace {

std::int32_t parts(double factor) {
  return static_cast<std::int32_t>(std::lround(factor * kernels::kOneFactor));
}

/// Returns quantiles of the symmetric beta distribution, ascending. The density x^(a-1) (1-x)^(a-1) is
/// integrated over u = x^min(a, 1), where it has no pole, up to the middle; the other half mirrors it.
std::vector<double> beta_quantiles(double alpha) {
  constexpr int kCells = 1 << 14;
  const double power = std::min(alpha, 1.0);
  const double end = std::pow(0.5, power);
  std::vector<double> below(kCells + 1, 0.0);  // share of the distribution below each border
  const auto x_of = [&](double cell) { return std::pow(end * cell / kCells, 1 / power); };
  for (int cell = 0; cell < kCells; ++cell) {
    const auto i = static_cast<std::size_t>(cell);
    const double x = x_of(cell + 0.5);
    below[i + 1] = below[i] + std::pow(x, alpha - power) * std::pow(1 - x, alpha - 1);
  }
  std::vector<double> quantiles(kernels::kQuantiles);
  for (std::size_t i = 0; i < quantiles.size() / 2; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / kernels::kQuantiles;
    const auto border = std::ranges::lower_bound(below, 2 * share * below.back());
    const double x = x_of(static_cast<double>(border - below.begin()) - 0.5);
    quantiles[i] = x;
    quantiles[quantiles.size() - 1 - i] = 1 - x;
  }
  return quantiles;
}

template <typename Map>
std::vector<float> map_quantiles(double alpha, Map map) {
  std::vector<float> table;
  for (const double quantile : beta_quantiles(alpha)) table.push_back(static_cast<float>(map(quantile)));
  return table;
}

kernels::TrivialPlan trivial_plan(double most, std::int64_t operations) {
  constexpr double kMostAngle = 135 * std::numbers::pi / 180;
  kernels::TrivialPlan plan{.most = parts(most), .operations = static_cast<std::int32_t>(operations)};
  for (std::int32_t level = 0; level < kernels::kStrengths; ++level) {
    const double angle = most * kMostAngle * level / (kernels::kStrengths - 1);
    plan.cosines[level] = static_cast<std::int32_t>(std::lround(kernels::kOnePixel * std::cos(angle)));
    plan.sines[level] = static_cast<std::int32_t>(std::lround(kernels::kOnePixel * std::sin(angle)));
  }
  return plan;
}

}  // namespace

ValueScaling::ValueScaling(const store::Dataset& dataset, Normalization normalization)
    : width_(dataset.train().has_pixels() ? 256 : 2) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(dataset.shape().channels); ++c) {
    const bool standard = normalization == Normalization::kStandard;
    const double mean = standard ? dataset.mean()[c] : 0;
    const double deviation = standard && dataset.deviation()[c] > 0 ? dataset.deviation()[c] : 1;
    if (!dataset.train().has_pixels()) {
      values_.push_back(static_cast<float>(mean));
      values_.push_back(static_cast<float>(1 / deviation));
      continue;
    }
    for (int pixel = 0; pixel < 256; ++pixel) {
      const double value = static_cast<double>(pixel) / dataset.value_scale();
      values_.push_back(static_cast<float>((value - mean) / deviation));
    }
  }
}

std::vector<std::int64_t> epoch_order(std::span<const std::int64_t> indices, std::uint64_t trial_seed,
                                      std::uint64_t epoch) {
  std::vector<std::int64_t> order(indices.begin(), indices.end());
  RandomStream random(derive_seed(trial_seed, "epoch", {epoch}));
  random.shuffle(std::span(order));
  return order;
}

kernels::AugmentPlan augment_plan(const AugmentOptions& options, const store::Dataset& dataset) {
  kernels::AugmentPlan plan{.crop = static_cast<std::int32_t>(options.crop),
                            .cutout = static_cast<std::int32_t>(options.cutout),
                            .flip = options.flip,
                            .height = static_cast<std::int32_t>(dataset.shape().height),
                            .width = static_cast<std::int32_t>(dataset.shape().width),
                            .brightness = parts(options.brightness),
                            .contrast = parts(options.contrast),
                            .saturation = parts(options.saturation),
                            .brightest = static_cast<std::int32_t>(dataset.value_scale()),
                            .is_grey = dataset.shape().channels == 1,
                            .trivial = trivial_plan(options.trivial, options.trivial_operations),
                            .signal = {.time_shift = static_cast<std::int32_t>(options.time_shift),
                                       .time_mask = static_cast<std::int32_t>(options.time_mask),
                                       .frequency_mask = static_cast<std::int32_t>(options.frequency_mask),
                                       .noise = static_cast<float>(options.noise)}};
  if (plan.changes_colours() || plan.trivial.most > 0) {
    const std::vector<double>& mean = dataset.mean();
    const double grey = plan.is_grey ? mean[0] : 0.299 * mean[0] + 0.587 * mean[1] + 0.114 * mean[2];
    plan.mean_grey = static_cast<std::int32_t>(std::lround(dataset.value_scale() * grey));
  }
  return plan;
}

std::uint64_t first_image_seed(std::uint64_t trial_seed, std::uint64_t epoch) {
  return derive_seed(trial_seed, "augment", {epoch});
}

std::vector<float> mixup_table(double alpha) {
  return map_quantiles(alpha, [](double share) { return share; });
}

std::vector<float> cutmix_table(double alpha) {
  return map_quantiles(alpha, [](double share) { return std::sqrt(1 - share); });
}

}  // namespace skyline::train
