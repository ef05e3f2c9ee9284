#include "train/augmentation.hpp"

#include "skyline/core/random.hpp"

#include <algorithm>

namespace skyline::train {

Augmentation::Augmentation(const AugmentOptions& options, const space::Shape& shape, std::uint64_t trial_seed)
    : options_(options),
      shape_(shape),
      trial_seed_(trial_seed),
      changed_(static_cast<std::size_t>(shape.elements())) {}

void Augmentation::begin_batch(std::uint64_t epoch, std::size_t first) {
  begin_at(first_seed(trial_seed_, epoch) + first);
}

std::uint64_t Augmentation::first_seed(std::uint64_t trial_seed, std::uint64_t epoch) {
  return derive_seed(trial_seed, "augment", {epoch});
}

const std::uint8_t* Augmentation::change(const std::uint8_t* image) {
  const Draw drawn = draw();
  for (std::int64_t c = 0; c < shape_.channels; ++c) {
    const std::int64_t plane = c * shape_.height * shape_.width;
    for (std::int64_t y = 0; y < shape_.height; ++y) {
      change_row(drawn, y, image + plane, changed_.data() + plane + y * shape_.width);
    }
  }
  return changed_.data();
}

/// Draws the same numbers whatever the options, so that one option doesn't change what another does.
Augmentation::Draw Augmentation::draw() {
  RandomStream random(next_seed_++);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
  };
  Draw drawn;
  drawn.down = below(2 * options_.crop + 1) - options_.crop;
  drawn.right = below(2 * options_.crop + 1) - options_.crop;
  drawn.mirrored = below(2) == 1 && options_.flip;
  drawn.hole_top = below(shape_.height) - options_.cutout / 2;
  drawn.hole_left = below(shape_.width) - options_.cutout / 2;
  return drawn;
}

void Augmentation::change_row(const Draw& draw, std::int64_t row, const std::uint8_t* plane,
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
  if (row >= draw.hole_top && row < draw.hole_top + options_.cutout) {
    std::fill(target + std::clamp<std::int64_t>(draw.hole_left, 0, width),
              target + std::clamp<std::int64_t>(draw.hole_left + options_.cutout, 0, width), std::uint8_t{0});
  }
}

}  // namespace skyline::train
