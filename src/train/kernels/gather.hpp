#pragma once

#include "skyline/core/random_engine.hpp"

#include "train/kernels/augment.hpp"
#include "train/kernels/mix.hpp"
#include "train/kernels/teach.hpp"

#include <cstdint>

namespace skyline::train::kernels {

/// The inputs and outputs of making a batch. A kernel makes every element with its own thread, which only
/// calls the functions below.
struct GatherPlan {
  const std::uint8_t* pixels = nullptr;    // stored pixels, [samples, channels, height, width], or ...
  const float* numbers = nullptr;          // ... stored numbers of the same shape
  const std::int32_t* labels = nullptr;    // classes, [samples], or ...
  const float* label_rows = nullptr;       // ... labels or numbers, [samples, outputs]
  const std::int64_t* order = nullptr;     // [samples of the epoch]
  const std::int64_t* position = nullptr;  // []: place of the batch in the order
  std::int64_t first = 0;                  // place in the batch of the first row
  const float* scaling = nullptr;      // [channels, 256] for pixels, [channels, 2] for numbers: mean, factor
  const std::int64_t* seed = nullptr;  // []: first_image_seed(); nullptr if images stay unchanged
  AugmentPlan augment;
  MixPlan mix;  // off if images stay unchanged
  std::int32_t channels = 0;
  std::int32_t outputs = 0;  // number of outputs in a row of targets, also of a teacher's
  std::int64_t rows = 0;
  float* images = nullptr;          // [rows, height, width, channels]
  std::int64_t* targets = nullptr;  // classes, [rows], or ...
  float* target_rows = nullptr;     // ... labels or numbers, [rows, outputs]
  std::int64_t* others = nullptr;   // [rows], classes of the other images; nullptr if no classes are mixed
  float* shares = nullptr;          // [rows], shares of `targets`; nullptr if no classes are mixed
  TeachPlan teach = {};
};

/// A stored image with its changes.
struct GatheredImage {
  const std::uint8_t* stored = nullptr;
  const float* numbers = nullptr;  // used instead of `stored` for numbers
  std::int64_t sample = 0;
  ImageDraw draw;
};

/// New values of an image's pixels by the histograms of its channels.
using Curves = std::uint8_t[kMostColours * kLevels];

struct GatheredRow {
  GatheredImage image;
  MixDraw mix;
  GatheredImage other;  // set if mix says that there is another image
};

SKYLINE_DEVICE_CODE inline std::int32_t elements_of_image(const GatherPlan& plan) {
  return plan.channels * plan.augment.height * plan.augment.width;
}

/// @param place  place in the epoch's order
SKYLINE_DEVICE_CODE inline GatheredImage find_image(const GatherPlan& plan, std::int64_t place) {
  const std::int64_t sample = plan.order[place];
  GatheredImage image;
  image.sample = sample;
  if (plan.numbers != nullptr) {
    image.numbers = plan.numbers + sample * elements_of_image(plan);
  } else {
    image.stored = plan.pixels + sample * elements_of_image(plan);
  }
  if (plan.seed != nullptr) {
    image.draw =
        draw_image(plan.augment, static_cast<std::uint64_t>(*plan.seed) + static_cast<std::uint64_t>(place));
  }
  return image;
}

SKYLINE_DEVICE_CODE inline GatheredRow find_row(const GatherPlan& plan, std::int64_t row) {
  const std::int64_t place = *plan.position + plan.first + row;
  GatheredRow found;
  found.image = find_image(plan, place);
  if (plan.seed != nullptr) {
    found.mix = draw_mix(plan.mix, plan.augment.height, plan.augment.width,
                         static_cast<std::uint64_t>(*plan.seed) + static_cast<std::uint64_t>(place));
  }
  if (found.mix.other >= 0) found.other = find_image(plan, found.mix.other);
  return found;
}

/// Returns whether curves must be found before the image's pixels are.
SKYLINE_DEVICE_CODE inline bool needs_curves(const GatheredImage& image) {
  return image.stored != nullptr && image.draw.trivial.by_histogram != TrivialOperation::kNone;
}

/// Returns the value of a pixel as the histogram of its channel counts it.
/// @param place  in the plane of the channel
SKYLINE_DEVICE_CODE inline std::int32_t counted_pixel(const GatherPlan& plan, const GatheredImage& image,
                                                      std::int32_t channel, std::int32_t place) {
  const std::int32_t width = plan.augment.width;
  return shown_pixel(plan.augment, image.draw, image.stored, channel, place / width, place % width);
}

/// Finds the curves of an image that needs some. On a device the threads of a block share this work.
SKYLINE_DEVICE_CODE inline void find_curves(const GatherPlan& plan, GatheredImage& image, Curves& curves) {
  if (!needs_curves(image)) return;
  for (std::int32_t channel = 0; channel < plan.channels; ++channel) {
    std::int32_t counts[kLevels]{};
    const std::int32_t plane = plan.augment.height * plan.augment.width;
    for (std::int32_t i = 0; i < plane; ++i) ++counts[counted_pixel(plan, image, channel, i)];
    write_curve(image.draw.trivial.by_histogram, counts, plan.augment.brightest, curves + channel * kLevels);
  }
  image.draw.trivial.curves = curves;
}

SKYLINE_DEVICE_CODE inline float scaled_number(const float* scaling, std::int32_t channel, float number) {
  return (number - scaling[2 * channel]) * scaling[2 * channel + 1];
}

/// Returns a value of an image that is moved, cut and coloured.
SKYLINE_DEVICE_CODE inline float placed_value(const GatherPlan& plan, const GatheredImage& image,
                                              std::int32_t channel, std::int32_t row, std::int32_t column) {
  if (image.numbers == nullptr) {
    const std::int32_t pixel = changed_pixel(plan.augment, image.draw, image.stored, channel, row, column);
    return plan.scaling[channel * 256 + pixel];
  }
  const std::int32_t source = source_pixel(plan.augment, image.draw, row, column);
  const std::int32_t plane = plan.augment.height * plan.augment.width;
  return scaled_number(plan.scaling, channel, source < 0 ? 0.0F : image.numbers[channel * plane + source]);
}

/// Returns a value of an image with all of its changes. What is masked becomes 0, the mean of a channel.
SKYLINE_DEVICE_CODE inline float scaled_value(const GatherPlan& plan, const GatheredImage& image,
                                              std::int32_t channel, std::int32_t row, std::int32_t column) {
  const SignalDraw& signal = image.draw.signal;
  if (is_masked(signal, row, column)) return 0;
  const float value = placed_value(plan, image, channel, row, column);
  if (signal.noise == 0) return value;
  return value + noise_at(signal, (channel * plan.augment.height + row) * plan.augment.width + column);
}

SKYLINE_DEVICE_CODE inline float gathered_value(const GatherPlan& plan, const GatheredRow& found,
                                                std::int32_t channel, std::int32_t row, std::int32_t column) {
  const MixDraw& mix = found.mix;
  const bool in_box = row >= mix.top && row < mix.bottom && column >= mix.left && column < mix.right;
  if (in_box) return scaled_value(plan, found.other, channel, row, column);
  const float value = scaled_value(plan, found.image, channel, row, column);
  if (!mix.blends) return value;
  return mix.share * value + (1.0F - mix.share) * scaled_value(plan, found.other, channel, row, column);
}

/// @param element  index into [height, width, channels]
SKYLINE_DEVICE_CODE inline float gathered_value(const GatherPlan& plan, const GatheredRow& found,
                                                std::int32_t element) {
  const std::int32_t place = element / plan.channels;
  return gathered_value(plan, found, element % plan.channels, place / plan.augment.width,
                        place % plan.augment.width);
}

/// Writes the targets of a teacher, which has seen each image without its changes.
SKYLINE_DEVICE_CODE inline void write_taught(const GatherPlan& plan, const GatheredRow& found,
                                             std::int64_t row) {
  if (plan.teach.outputs == nullptr) return;
  float* const targets = plan.teach.targets + row * plan.outputs;
  for (std::int32_t i = 0; i < plan.outputs; ++i) targets[i] = 0;
  const bool mixed = found.mix.other >= 0;
  add_taught(plan.teach, found.image.sample, plan.outputs, mixed ? found.mix.share : 1.0F, targets);
  if (mixed) add_taught(plan.teach, found.other.sample, plan.outputs, 1.0F - found.mix.share, targets);
}

/// Writes the targets against which the row's loss is computed.
SKYLINE_DEVICE_CODE inline void write_targets(const GatherPlan& plan, const GatheredRow& found,
                                              std::int64_t row) {
  write_taught(plan, found, row);
  const bool mixed = found.mix.other >= 0;
  if (plan.label_rows != nullptr) {
    const float* own = plan.label_rows + found.image.sample * plan.outputs;
    const float* other = mixed ? plan.label_rows + found.other.sample * plan.outputs : own;
    for (std::int32_t i = 0; i < plan.outputs; ++i) {
      const float value = own[i];
      plan.target_rows[row * plan.outputs + i] =
          mixed ? found.mix.share * value + (1.0F - found.mix.share) * other[i] : value;
    }
    return;
  }
  plan.targets[row] = plan.labels[found.image.sample];
  if (plan.shares == nullptr) return;
  plan.others[row] = plan.labels[mixed ? found.other.sample : found.image.sample];
  plan.shares[row] = found.mix.share;
}

}  // namespace skyline::train::kernels
