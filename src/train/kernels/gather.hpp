#pragma once

#include "skyline/core/random_engine.hpp"

#include "train/kernels/augment.hpp"

#include <cstdint>

namespace skyline::train::kernels {

/// The arrays of a DeviceBatch. A kernel makes every element of a batch by a thread of its own; the functions
/// below are all that a thread does.
struct GatherPlan {
  const std::uint8_t* pixels = nullptr;    // [samples, channels, height, width]
  const std::int32_t* labels = nullptr;    // [samples]
  const std::int64_t* order = nullptr;     // [samples of the epoch]
  const std::int64_t* position = nullptr;  // []
  const float* scaling = nullptr;          // [channels, 256]
  const std::int64_t* seed = nullptr;      // []; nullptr: images stay unchanged
  AugmentPlan augment;
  std::int32_t channels = 0;
  std::int64_t rows = 0;
  float* images = nullptr;          // [rows, height, width, channels]
  std::int64_t* targets = nullptr;  // [rows]
};

/// One image of the batch.
struct GatheredImage {
  const std::uint8_t* stored = nullptr;
  std::int64_t label = 0;
  ImageDraw draw;
};

SKYLINE_DEVICE_CODE inline std::int32_t elements_of_image(const GatherPlan& plan) {
  return plan.channels * plan.augment.height * plan.augment.width;
}

SKYLINE_DEVICE_CODE inline GatheredImage find_image(const GatherPlan& plan, std::int64_t row) {
  const std::int64_t place = *plan.position + row;
  const std::int64_t sample = plan.order[place];
  GatheredImage image;
  image.stored = plan.pixels + sample * elements_of_image(plan);
  image.label = plan.labels[sample];
  if (plan.seed != nullptr) {
    image.draw =
        draw_image(plan.augment, static_cast<std::uint64_t>(*plan.seed) + static_cast<std::uint64_t>(place));
  }
  return image;
}

/// @param element  of [height, width, channels]
SKYLINE_DEVICE_CODE inline float gathered_value(const GatherPlan& plan, const GatheredImage& image,
                                                std::int32_t element) {
  const std::int32_t channel = element % plan.channels;
  const std::int32_t place = element / plan.channels;
  const std::int32_t width = plan.augment.width;
  const std::int32_t source = source_pixel(plan.augment, image.draw, place / width, place % width);
  const std::int32_t plane = channel * plan.augment.height * width;
  const std::int32_t pixel = source < 0 ? 0 : image.stored[plane + source];
  return plan.scaling[channel * 256 + pixel];
}

}  // namespace skyline::train::kernels
