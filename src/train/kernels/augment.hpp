#pragma once

#include "skyline/core/random_engine.hpp"

#include "train/kernels/signal_changes.hpp"
#include "train/kernels/trivial.hpp"

#include <cstdint>

namespace skyline::train::kernels {

/// AugmentOptions, and the facts about the data set to which they apply.
struct AugmentPlan {
  std::int32_t crop = 0;
  std::int32_t cutout = 0;
  bool flip = false;
  std::int32_t height = 0;
  std::int32_t width = 0;
  std::int32_t brightness = 0;  // largest change of a factor, in parts; 0 for off
  std::int32_t contrast = 0;
  std::int32_t saturation = 0;
  std::int32_t mean_grey = 0;  // mean grey of the data set, as a pixel
  std::int32_t brightest = 255;
  bool is_grey = false;  // one channel, where colours change
  TrivialPlan trivial = {};
  SignalPlan signal = {};

  SKYLINE_DEVICE_CODE bool changes_colours() const {
    return brightness > 0 || contrast > 0 || saturation > 0;
  }
  /// Returns whether an image is only moved, mirrored and cut.
  SKYLINE_DEVICE_CODE bool only_moves() const {
    return !changes_colours() && trivial.most == 0 && !signal.any();
  }
};

/// The changes of one image; none by default.
struct ImageDraw {
  std::int32_t down = 0;  // place of the window in the image, from -crop to crop
  std::int32_t right = 0;
  bool mirrored = false;
  std::int32_t hole_top = 0;  // top of the cutout; may lie outside
  std::int32_t hole_left = 0;
  std::int32_t brightness = kOneFactor;
  std::int32_t contrast = kOneFactor;
  std::int32_t saturation = kOneFactor;
  TrivialDraw trivial = {};
  SignalDraw signal = {};
};

SKYLINE_DEVICE_CODE inline std::int32_t times(std::int32_t value, std::int32_t factor) {
  return (value * factor + kOneFactor / 2) >> 12;
}

/// Draws a factor, uniform, at most `most` from one.
SKYLINE_DEVICE_CODE inline std::int32_t draw_factor(RandomEngine& random, std::int32_t most) {
  return kOneFactor - most +
         static_cast<std::int32_t>(random.below(2 * static_cast<std::uint64_t>(most) + 1));
}

/// Draws the changes of an image. It draws the same numbers for all options, so that one option does not
/// change the effect of another.
SKYLINE_DEVICE_CODE inline ImageDraw draw_image(const AugmentPlan& plan, std::uint64_t seed) {
  RandomEngine random(seed);
  const std::uint64_t places = 2 * static_cast<std::uint64_t>(plan.crop) + 1;
  ImageDraw drawn;
  drawn.down = static_cast<std::int32_t>(random.below(places)) - plan.crop;
  if (plan.height == 1) drawn.down = 0;  // a sequence moves only along its length
  drawn.right = static_cast<std::int32_t>(random.below(places)) - plan.crop;
  drawn.mirrored = random.below(2) == 1 && plan.flip;
  const auto height = static_cast<std::uint64_t>(plan.height);
  const auto width = static_cast<std::uint64_t>(plan.width);
  drawn.hole_top = static_cast<std::int32_t>(random.below(height)) - plan.cutout / 2;
  drawn.hole_left = static_cast<std::int32_t>(random.below(width)) - plan.cutout / 2;
  if (plan.changes_colours()) {
    drawn.brightness = draw_factor(random, plan.brightness);
    drawn.contrast = draw_factor(random, plan.contrast);
    drawn.saturation = draw_factor(random, plan.saturation);
  }
  drawn.trivial = draw_trivial(plan.trivial, plan.height, plan.width, plan.brightest, seed);
  drawn.brightness = times(drawn.brightness, drawn.trivial.brightness);
  drawn.contrast = times(drawn.contrast, drawn.trivial.contrast);
  drawn.saturation = times(drawn.saturation, drawn.trivial.saturation);
  drawn.signal = draw_signal(plan.signal, plan.height, plan.width, seed);
  return drawn;
}

SKYLINE_DEVICE_CODE inline bool is_in_hole(const AugmentPlan& plan, const ImageDraw& draw, std::int32_t row,
                                           std::int32_t column) {
  return row >= draw.hole_top && row < draw.hole_top + plan.cutout && column >= draw.hole_left &&
         column < draw.hole_left + plan.cutout;
}

/// Returns the stored pixel of a plane that comes to `row` and `column`, or -1 if none does.
SKYLINE_DEVICE_CODE inline std::int32_t moved_pixel(const AugmentPlan& plan, const ImageDraw& draw,
                                                    std::int32_t row, std::int32_t column) {
  if (draw.trivial.moves) {
    move_place(draw.trivial, plan.height, plan.width, row, column);
    if (row < 0 || row >= plan.height || column < 0 || column >= plan.width) return -1;
  }
  if (draw.signal.shift != 0) {  // at the end the last value is repeated
    column += draw.signal.shift;
    column = column < 0 ? 0 : (column < plan.width ? column : plan.width - 1);
  }
  const std::int32_t y = row + draw.down;
  const std::int32_t x = (draw.mirrored ? plan.width - 1 - column : column) + draw.right;
  const bool inside = y >= 0 && y < plan.height && x >= 0 && x < plan.width;
  return inside ? y * plan.width + x : -1;
}

/// Returns the stored pixel of a plane that becomes the pixel at `row` and `column`, or -1 if that becomes 0.
SKYLINE_DEVICE_CODE inline std::int32_t source_pixel(const AugmentPlan& plan, const ImageDraw& draw,
                                                     std::int32_t row, std::int32_t column) {
  return is_in_hole(plan, draw, row, column) ? -1 : moved_pixel(plan, draw, row, column);
}

SKYLINE_DEVICE_CODE inline std::int32_t within(const AugmentPlan& plan, std::int32_t value) {
  return value < 0 ? 0 : (value > plan.brightest ? plan.brightest : value);
}

/// Returns a channel of a pixel in other colours: brightness scales it, contrast its distance from the data
/// set's grey, saturation its distance from the pixel's own grey (ITU-R BT.601).
SKYLINE_DEVICE_CODE inline std::int32_t coloured(const AugmentPlan& plan, const ImageDraw& draw,
                                                 std::int32_t value, std::int32_t red, std::int32_t green,
                                                 std::int32_t blue) {
  const std::int32_t mean = times(plan.mean_grey, draw.brightness);
  const std::int32_t luma = times((77 * red + 150 * green + 29 * blue + 128) >> 8, draw.brightness);
  const std::int32_t grey = mean + times(luma - mean, draw.contrast);
  const std::int32_t strong = mean + times(times(value, draw.brightness) - mean, draw.contrast);
  return within(plan, grey + times(strong - grey, draw.saturation));
}

/// Returns a pixel of a changed image before it is sharpened and cut.
/// @param image  [channels, height, width], as stored
SKYLINE_DEVICE_CODE inline std::int32_t shown_pixel(const AugmentPlan& plan, const ImageDraw& draw,
                                                    const std::uint8_t* image, std::int32_t channel,
                                                    std::int32_t row, std::int32_t column) {
  const std::int32_t source = moved_pixel(plan, draw, row, column);
  if (source < 0) return 0;
  const std::int32_t plane = plan.height * plan.width;
  const std::int32_t value = image[channel * plane + source];
  if (!plan.changes_colours() && plan.trivial.most == 0) return value;
  const std::int32_t next = plan.is_grey ? 0 : plane;  // distance to the next colour
  return recoded(draw.trivial, plan.brightest,
                 coloured(plan, draw, value, image[source], image[next + source], image[2 * next + source]));
}

/// Returns a pixel of a changed image; curves must have been found if its draw needs them. A sharpened one
/// has another distance from the mean of its neighbours and itself, which counts five times; the rim stays.
/// @param image  [channels, height, width], as stored
SKYLINE_DEVICE_CODE inline std::int32_t changed_pixel(const AugmentPlan& plan, const ImageDraw& draw,
                                                      const std::uint8_t* image, std::int32_t channel,
                                                      std::int32_t row, std::int32_t column) {
  if (is_in_hole(plan, draw, row, column)) return 0;
  const std::int32_t value = shown_pixel(plan, draw, image, channel, row, column);
  if (draw.trivial.curves != nullptr) return draw.trivial.curves[channel * kLevels + value];
  const bool rim = row == 0 || column == 0 || row + 1 == plan.height || column + 1 == plan.width;
  if (draw.trivial.sharpness == kOneFactor || rim) return value;
  std::int32_t sum = 4 * value;
  for (std::int32_t y = row - 1; y <= row + 1; ++y) {
    for (std::int32_t x = column - 1; x <= column + 1; ++x)
      sum += shown_pixel(plan, draw, image, channel, y, x);
  }
  const std::int32_t smooth = (sum + 6) / 13;
  return within(plan, smooth + times(value - smooth, draw.trivial.sharpness));
}

}  // namespace skyline::train::kernels
