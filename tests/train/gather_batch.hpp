#pragma once

#include "skyline/store/dataset.hpp"

#include "train/batches/augmentation.hpp"
#include "train/batches/batch_source.hpp"
#include "train/device/host_accelerator.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace skyline::train::test {

/// Changes images one after the other, each a pixel at a time.
class ImageChanger {
 public:
  /// @param first_seed  of the first image; later images have the following seeds
  ImageChanger(const kernels::AugmentPlan& plan, std::int32_t channels, std::uint64_t first_seed)
      : plan_(plan), channels_(channels), next_seed_(first_seed) {}
  ImageChanger(const AugmentOptions& options, const space::Shape& shape, std::uint64_t first_seed)
      : ImageChanger({.crop = static_cast<std::int32_t>(options.crop),
                      .cutout = static_cast<std::int32_t>(options.cutout),
                      .flip = options.flip,
                      .height = static_cast<std::int32_t>(shape.height),
                      .width = static_cast<std::int32_t>(shape.width)},
                     static_cast<std::int32_t>(shape.channels), first_seed) {}

  /// @return  the changed copy, until the next call
  const std::uint8_t* change(const std::uint8_t* image) {
    const kernels::ImageDraw drawn = kernels::draw_image(plan_, next_seed_++);
    changed_.clear();
    for (std::int32_t c = 0; c < channels_; ++c) {
      for (std::int32_t y = 0; y < plan_.height; ++y) {
        for (std::int32_t x = 0; x < plan_.width; ++x) {
          changed_.push_back(static_cast<std::uint8_t>(kernels::changed_pixel(plan_, drawn, image, c, y, x)));
        }
      }
    }
    return changed_.data();
  }

 private:
  kernels::AugmentPlan plan_;
  std::int32_t channels_;
  std::uint64_t next_seed_;
  std::vector<std::uint8_t> changed_;
};

struct Batch {
  at::Tensor images;  // float32 [samples, channels, height, width], channels_last
  std::vector<std::int32_t> labels;
};

/// Gathers the samples with these indices, changed by `changer` if there is one: sample by sample.
inline Batch gather_batch(const store::Dataset& data, const ValueScaling& scaling,
                          std::span<const std::int64_t> indices, ImageChanger* changer = nullptr) {
  const space::Shape& shape = data.shape();
  Batch batch;
  batch.images =
      at::empty({static_cast<std::int64_t>(indices.size()), shape.channels, shape.height, shape.width},
                at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  auto* target = batch.images.mutable_data_ptr<float>();
  for (const std::int64_t index : indices) {
    const std::uint8_t* image = data.train().pixels().data() + index * shape.elements();
    batch.labels.push_back(data.train().classes()[static_cast<std::size_t>(index)]);
    scale_image(changer == nullptr ? image : changer->change(image), shape, scaling.tables(), target);
    target += shape.elements();
  }
  return batch;
}

}  // namespace skyline::train::test
