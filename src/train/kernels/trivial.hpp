#pragma once

#include "skyline/core/random_engine.hpp"

#include <cstdint>

namespace skyline::train::kernels {

/// Factors of colours are whole numbers of this many parts, which give the same bits on hosts and devices.
inline constexpr std::int32_t kOneFactor = 4096;

/// Values that a pixel may have.
inline constexpr std::int32_t kLevels = 256;
/// TrivialAugment changes images of so many channels at most.
inline constexpr std::int32_t kMostColours = 3;
/// TrivialAugment draws one of so many strengths, from 0 to the largest.
inline constexpr std::int32_t kStrengths = 31;
/// A pixel, in the parts in which a turn and a shear are exact enough.
inline constexpr std::int32_t kOnePixel = 1 << 16;

enum class TrivialOperation : std::uint8_t {
  kNone,
  kShearRight,
  kShearDown,
  kMoveRight,
  kMoveDown,
  kTurn,
  kBrightness,
  kContrast,
  kSaturation,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,  // this one and the next go by the histogram of each channel
  kEqualize
};
inline constexpr std::int32_t kTrivialOperations = 14;

/// TrivialAugment with a largest strength.
struct TrivialPlan {
  std::int32_t most = 0;  // in parts of kOneFactor, which is that of the paper; 0 for off
  std::int32_t operations = kTrivialOperations;  // so many of them are drawn, the first ones
  std::int32_t cosines[kStrengths]{};            // angles by strength, in parts of kOnePixel
  std::int32_t sines[kStrengths]{};
};

/// One operation; none by default.
struct TrivialDraw {
  bool moves = false;
  // The place in the image of a pixel of the changed one, both from the centre: right = xx x + xy y + ...
  std::int32_t xx = kOnePixel;
  std::int32_t xy = 0;
  std::int32_t yx = 0;
  std::int32_t yy = kOnePixel;
  std::int32_t right = 0;  // pixels
  std::int32_t down = 0;
  std::int32_t brightness = kOneFactor;
  std::int32_t contrast = kOneFactor;
  std::int32_t saturation = kOneFactor;
  std::int32_t sharpness = kOneFactor;
  std::int32_t lost_bits = 0;       // lowest bits that become 0
  std::int32_t inverted = 1 << 16;  // pixels from this one on are inverted
  TrivialOperation by_histogram = TrivialOperation::kNone;
  const std::uint8_t* curves = nullptr;  // [channels, kLevels], new values by histogram, once they are found
};

/// How far an operation goes.
struct TrivialStrength {
  std::int32_t level = 0;  // 0 to kStrengths - 1
  std::int32_t sign = 1;
  std::int32_t parts = 0;  // strength in parts of kOneFactor

  /// Returns the part of a size, rounded.
  SKYLINE_DEVICE_CODE std::int32_t of(std::int32_t size) const {
    return (size * parts + kOneFactor / 2) / kOneFactor;
  }
  /// Returns the change of a factor, in parts of kOneFactor: at most 0.99.
  SKYLINE_DEVICE_CODE std::int32_t change() const { return sign * of(kOneFactor * 99 / 100); }
};

SKYLINE_DEVICE_CODE inline void set_move(const TrivialPlan& plan, TrivialOperation operation,
                                         const TrivialStrength& strength, std::int32_t height,
                                         std::int32_t width, TrivialDraw& drawn) {
  using Operation = TrivialOperation;
  drawn.moves = operation >= Operation::kShearRight && operation <= Operation::kTurn;
  const std::int32_t shear = strength.change() * (kOnePixel / kOneFactor);
  if (operation == Operation::kShearRight) drawn.xy = shear;
  if (operation == Operation::kShearDown) drawn.yx = shear;
  if (operation == Operation::kMoveRight) drawn.right = strength.sign * strength.of(width);
  if (operation == Operation::kMoveDown) drawn.down = strength.sign * strength.of(height);
  if (operation != Operation::kTurn) return;
  drawn.xx = drawn.yy = plan.cosines[strength.level];
  drawn.xy = strength.sign * plan.sines[strength.level];
  drawn.yx = -drawn.xy;
}

SKYLINE_DEVICE_CODE inline void set_colour(TrivialOperation operation, const TrivialStrength& strength,
                                           std::int32_t brightest, TrivialDraw& drawn) {
  using Operation = TrivialOperation;
  constexpr std::int32_t kBitsLeft = 2;  // at the largest strength
  std::int32_t bits = 0;
  while ((brightest >> bits) > 0) ++bits;
  if (operation == Operation::kBrightness) drawn.brightness += strength.change();
  if (operation == Operation::kContrast) drawn.contrast += strength.change();
  if (operation == Operation::kSaturation) drawn.saturation += strength.change();
  if (operation == Operation::kSharpness) drawn.sharpness += strength.change();
  if (operation == Operation::kPosterize && bits > kBitsLeft) drawn.lost_bits = strength.of(bits - kBitsLeft);
  if (operation == Operation::kSolarize) drawn.inverted = brightest + 1 - strength.of(brightest + 1);
}

/// Draws an operation and its strength, both uniform. The strengths are those of TrivialAugmentWide, except
/// that an image moves by up to its side.
/// @param brightest  largest pixel
/// @see Mueller and Hutter, ICCV 2021
SKYLINE_DEVICE_CODE inline TrivialDraw draw_trivial(const TrivialPlan& plan, std::int32_t height,
                                                    std::int32_t width, std::int32_t brightest,
                                                    std::uint64_t seed) {
  constexpr std::uint64_t kOwnNumbers = 0x7472697669616c5fU;
  TrivialDraw drawn;
  if (plan.most == 0) return drawn;
  RandomEngine random(seed ^ kOwnNumbers);
  const auto operation =
      static_cast<TrivialOperation>(random.below(static_cast<std::uint64_t>(plan.operations)));
  TrivialStrength strength;
  strength.level = static_cast<std::int32_t>(random.below(kStrengths));
  strength.sign = random.below(2) == 1 ? 1 : -1;
  strength.parts = plan.most * strength.level / (kStrengths - 1);
  set_move(plan, operation, strength, height, width, drawn);
  set_colour(operation, strength, brightest, drawn);
  if (operation >= TrivialOperation::kAutoContrast) drawn.by_histogram = operation;
  return drawn;
}

/// Writes the new value of each pixel value of a channel: auto-contrast stretches the values from 0 to the
/// brightest, equalize makes all of them about equally frequent. Both do as Pillow's ImageOps, in whole
/// numbers.
/// @param counts  [kLevels], how many pixels of the channel have each value
/// @param curve   out: [kLevels]
SKYLINE_DEVICE_CODE inline void write_curve(TrivialOperation operation, const std::int32_t* counts,
                                            std::int32_t brightest, std::uint8_t* curve) {
  std::int32_t least = -1;
  std::int32_t largest = 0;
  std::int32_t total = 0;
  for (std::int32_t value = 0; value < kLevels; ++value) {
    if (counts[value] == 0) continue;
    if (least < 0) least = value;
    largest = value;
    total += counts[value];
  }
  const bool equalizes = operation == TrivialOperation::kEqualize;
  const std::int32_t step = equalizes ? (total - counts[largest]) / brightest : largest - least;
  std::int32_t below = 0;  // pixels with a lower value
  for (std::int32_t value = 0; value < kLevels; ++value) {
    std::int32_t made = value;
    if (step > 0) made = equalizes ? (step / 2 + below) / step : (value - least) * brightest / step;
    made = made < 0 ? 0 : made;
    curve[value] = static_cast<std::uint8_t>(made > brightest ? brightest : made);
    below += counts[value];
  }
}

/// Moves a place to that of the pixel that comes there, which may lie outside.
SKYLINE_DEVICE_CODE inline void move_place(const TrivialDraw& draw, std::int32_t height, std::int32_t width,
                                           std::int32_t& row, std::int32_t& column) {
  // Twice the distance from the centre, which is whole.
  const std::int64_t x = 2 * std::int64_t{column} - (width - 1);
  const std::int64_t y = 2 * std::int64_t{row} - (height - 1);
  const std::int64_t from_x =
      draw.xx * x + draw.xy * y + (2 * draw.right + width - 1) * std::int64_t{kOnePixel};
  const std::int64_t from_y =
      draw.yx * x + draw.yy * y + (2 * draw.down + height - 1) * std::int64_t{kOnePixel};
  column = static_cast<std::int32_t>((from_x + kOnePixel) >> 17);
  row = static_cast<std::int32_t>((from_y + kOnePixel) >> 17);
}

/// Returns a pixel with fewer bits, or inverted.
SKYLINE_DEVICE_CODE inline std::int32_t recoded(const TrivialDraw& draw, std::int32_t brightest,
                                                std::int32_t value) {
  value = (value >> draw.lost_bits) << draw.lost_bits;
  return value >= draw.inverted ? brightest - value : value;
}

}  // namespace skyline::train::kernels
