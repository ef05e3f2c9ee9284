#include "train/course/batch_source.hpp"

#include "skyline/core/random.hpp"

namespace skyline::train {

PixelScaling::PixelScaling(const store::Dataset& dataset, Normalization normalization) {
  const auto channels = static_cast<std::size_t>(dataset.shape().channels);
  values_.resize(channels * kPixels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
      double value = static_cast<double>(pixel) / dataset.value_scale();
      if (normalization == Normalization::kStandard) {
        const double deviation = dataset.deviation()[c];
        value = (value - dataset.mean()[c]) / (deviation > 0 ? deviation : 1.0);
      }
      values_[c * kPixels + pixel] = static_cast<float>(value);
    }
  }
}

void scale_image(const std::uint8_t* image, const space::Shape& shape, std::span<const float> tables,
                 float* input) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  const auto pixels = static_cast<std::size_t>(shape.height * shape.width);
  const std::size_t table_size = tables.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const float* table = tables.data() + c * table_size;
    for (std::size_t p = 0; p < pixels; ++p) {
      input[p * channels + c] = table[image[c * pixels + p]];
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
