#include "train/course/augmentation.hpp"

#include "skyline/core/random.hpp"

#include <algorithm>

namespace skyline::train {

Augmentation::Augmentation(const AugmentOptions& options, const space::Shape& shape, std::uint64_t first_seed)
    : plan_{.crop = static_cast<std::int32_t>(options.crop),
            .cutout = static_cast<std::int32_t>(options.cutout),
            .flip = options.flip,
            .height = static_cast<std::int32_t>(shape.height),
            .width = static_cast<std::int32_t>(shape.width)},
      shape_(shape),
      next_seed_(first_seed),
      changed_(static_cast<std::size_t>(shape.elements())) {}

std::uint64_t Augmentation::first_seed(std::uint64_t trial_seed, std::uint64_t epoch) {
  return derive_seed(trial_seed, "augment", {epoch});
}

const std::uint8_t* Augmentation::change(const std::uint8_t* image) {
  const kernels::ImageDraw drawn = kernels::draw_image(plan_, next_seed_++);
  for (std::int64_t c = 0; c < shape_.channels; ++c) {
    const std::int64_t plane = c * shape_.height * shape_.width;
    for (std::int64_t y = 0; y < shape_.height; ++y) {
      change_row(drawn, y, image + plane, changed_.data() + plane + y * shape_.width);
    }
  }
  return changed_.data();
}

void Augmentation::change_row(const kernels::ImageDraw& draw, std::int64_t row, const std::uint8_t* plane,
                              std::uint8_t* target) const {
  const std::int64_t width = shape_.width;
  std::fill(target, target + width, std::uint8_t{0});
  const std::int64_t source_row = row + draw.down;
  const std::int64_t begin = std::max<std::int64_t>(0, -draw.right);
  const std::int64_t end = std::min(width, width - draw.right);
  if (source_row >= 0 && source_row < shape_.height && begin < end) {
    const std::uint8_t* source = plane + source_row * width + draw.right;
    std::copy(source + begin, source + end, target + begin);
  }
  if (draw.mirrored) {
    std::reverse(target, target + width);
  }
  if (row >= draw.hole_top && row < draw.hole_top + plan_.cutout) {
    std::fill(target + std::clamp<std::int64_t>(draw.hole_left, 0, width),
              target + std::clamp<std::int64_t>(draw.hole_left + plan_.cutout, 0, width), std::uint8_t{0});
  }
}

}  // namespace skyline::train
