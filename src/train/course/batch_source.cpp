#include "train/course/batch_source.hpp"

#include "skyline/core/random.hpp"

#include <ATen/ops/empty.h>

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

void gather_batch(const store::MappedImages& source, const space::Shape& shape, const PixelScaling& scaling,
                  std::span<const std::int64_t> indices, Batch& batch, Augmentation* augmentation) {
  const auto samples = static_cast<std::int64_t>(indices.size());
  if (!batch.images.defined() || batch.images.size(0) != samples) {
    batch.images = at::empty({samples, shape.channels, shape.height, shape.width},
                             at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  }
  batch.labels.resize(indices.size());
  const auto elements = static_cast<std::size_t>(shape.elements());
  float* target = batch.images.mutable_data_ptr<float>();
  for (std::size_t s = 0; s < indices.size(); ++s) {
    const auto index = static_cast<std::size_t>(indices[s]);
    batch.labels[s] = source.labels[index];
    const std::uint8_t* image = source.images.data() + index * elements;
    if (augmentation != nullptr) {
      image = augmentation->change(image);
    }
    scale_image(image, shape, scaling.tables(), target + s * elements);
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
