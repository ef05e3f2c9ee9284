#pragma once

#include "skyline/core/random_engine.hpp"

#include <cstdint>

namespace skyline::train::kernels {

/// AugmentOptions and the size of the images.
struct AugmentPlan {
  std::int32_t crop = 0;
  std::int32_t cutout = 0;
  bool flip = false;
  std::int32_t height = 0;
  std::int32_t width = 0;
};

/// The changes of one image; by default none.
struct ImageDraw {
  std::int32_t down = 0;  // the window's place in the image, from -crop to crop
  std::int32_t right = 0;
  bool mirrored = false;
  std::int32_t hole_top = 0;  // top of the cutout; may lie outside
  std::int32_t hole_left = 0;
};

/// Draws the same numbers for any options, so that one option does not change the effect of another.
SKYLINE_DEVICE_CODE inline ImageDraw draw_image(const AugmentPlan& plan, std::uint64_t seed) {
  RandomEngine random(seed);
  const std::uint64_t places = 2 * static_cast<std::uint64_t>(plan.crop) + 1;
  ImageDraw drawn;
  drawn.down = static_cast<std::int32_t>(random.below(places)) - plan.crop;
  drawn.right = static_cast<std::int32_t>(random.below(places)) - plan.crop;
  drawn.mirrored = random.below(2) == 1 && plan.flip;
  const auto height = static_cast<std::uint64_t>(plan.height);
  const auto width = static_cast<std::uint64_t>(plan.width);
  drawn.hole_top = static_cast<std::int32_t>(random.below(height)) - plan.cutout / 2;
  drawn.hole_left = static_cast<std::int32_t>(random.below(width)) - plan.cutout / 2;
  return drawn;
}

/// The stored pixel of a plane that becomes the pixel at `row` and `column`. @return -1: none, it becomes 0
SKYLINE_DEVICE_CODE inline std::int32_t source_pixel(const AugmentPlan& plan, const ImageDraw& draw,
                                                     std::int32_t row, std::int32_t column) {
  const bool in_hole = row >= draw.hole_top && row < draw.hole_top + plan.cutout &&
                       column >= draw.hole_left && column < draw.hole_left + plan.cutout;
  const std::int32_t y = row + draw.down;
  const std::int32_t x = (draw.mirrored ? plan.width - 1 - column : column) + draw.right;
  const bool inside = y >= 0 && y < plan.height && x >= 0 && x < plan.width;
  return inside && !in_hole ? y * plan.width + x : -1;
}

}  // namespace skyline::train::kernels
