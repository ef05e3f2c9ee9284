#pragma once

#include "skyline/core/random_engine.hpp"

#include <cstdint>

namespace skyline::train::kernels {

/// A table has this many quantiles of a distribution, so that host and device draw the same from it.
inline constexpr std::int32_t kQuantiles = 256;

/// How an image is mixed with another image of the epoch, which may be anywhere in its order.
struct MixPlan {
  const float* mixup = nullptr;   // [kQuantiles], shares that the image keeps; nullptr for off
  const float* cutmix = nullptr;  // [kQuantiles], relative sides of the other image's box; nullptr for off
  std::int64_t samples = 0;       // number of samples in the epoch
};

struct MixDraw {
  std::int64_t other = -1;  // place of the other image in the epoch's order; -1 for none
  float share = 1;          // share of the image itself, also in the loss
  bool blends = false;      // true: every pixel is blended; false: the other image fills the box
  std::int32_t top = 0;
  std::int32_t bottom = 0;
  std::int32_t left = 0;
  std::int32_t right = 0;
};

/// Draws a part of [0, size) around a random centre.
/// @param side  its length before it is cut at the ends
SKYLINE_DEVICE_CODE inline void draw_interval(RandomEngine& random, std::int32_t size, std::int32_t side,
                                              std::int32_t& begin, std::int32_t& end) {
  const auto centre = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(size)));
  begin = centre < side / 2 ? 0 : centre - side / 2;
  end = centre + side / 2 > size ? size : centre + side / 2;
}

/// Draws how an image is mixed.
/// @param seed  seed of the image; the numbers differ from those of draw_image
/// @see Zhang et al., ICLR 2018 (mixup); Yun et al., ICCV 2019 (CutMix)
SKYLINE_DEVICE_CODE inline MixDraw draw_mix(const MixPlan& plan, std::int32_t height, std::int32_t width,
                                            std::uint64_t seed) {
  constexpr std::uint64_t kOwnNumbers = 0x6d69785f6d69785fU;
  MixDraw drawn;
  if (plan.mixup == nullptr && plan.cutmix == nullptr) return drawn;
  RandomEngine random(seed ^ kOwnNumbers);
  drawn.other = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(plan.samples)));
  const std::uint64_t quantile = random.below(kQuantiles);
  const bool cuts = plan.mixup == nullptr || (plan.cutmix != nullptr && random.below(2) == 1);
  drawn.blends = !cuts;
  if (!cuts) {
    drawn.share = plan.mixup[quantile];
    return drawn;
  }
  const float side = plan.cutmix[quantile];
  const auto rows = static_cast<std::int32_t>(static_cast<float>(height) * side);
  auto columns = static_cast<std::int32_t>(static_cast<float>(width) * side);
  draw_interval(random, height, rows, drawn.top, drawn.bottom);
  if (height == 1) {  // a sequence loses a part of its length
    drawn.bottom = 1;
    columns = static_cast<std::int32_t>(static_cast<float>(width) * side * side);
  }
  draw_interval(random, width, columns, drawn.left, drawn.right);
  const std::int32_t cut = (drawn.bottom - drawn.top) * (drawn.right - drawn.left);
  drawn.share = static_cast<float>(height * width - cut) / static_cast<float>(height * width);
  return drawn;
}

}  // namespace skyline::train::kernels
