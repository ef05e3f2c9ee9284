#pragma once

#include "skyline/store/dataset.hpp"

#include "train/course/augmentation.hpp"
#include "train/course/batch_source.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace skyline::train::test {

struct Batch {
  at::Tensor images;  // float32 [samples, channels, height, width], channels_last
  std::vector<std::int32_t> labels;
};

/// Gathers the samples with these indices, changed by `augmentation` if there is one: sample by sample.
inline Batch gather_batch(const store::Dataset& data, const PixelScaling& scaling,
                          std::span<const std::int64_t> indices, Augmentation* augmentation = nullptr) {
  const space::Shape& shape = data.shape();
  Batch batch;
  batch.images =
      at::empty({static_cast<std::int64_t>(indices.size()), shape.channels, shape.height, shape.width},
                at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  auto* target = batch.images.mutable_data_ptr<float>();
  for (const std::int64_t index : indices) {
    const std::uint8_t* image = data.train().images.data() + index * shape.elements();
    batch.labels.push_back(data.train().labels[static_cast<std::size_t>(index)]);
    scale_image(augmentation == nullptr ? image : augmentation->change(image), shape, scaling.tables(),
                target);
    target += shape.elements();
  }
  return batch;
}

}  // namespace skyline::train::test
