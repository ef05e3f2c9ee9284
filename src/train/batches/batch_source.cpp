#include "train/batches/batch_source.hpp"

#include "skyline/core/random.hpp"

namespace skyline::train {

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

}  // namespace skyline::train
