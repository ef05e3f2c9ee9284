#pragma once

#include "skyline/core/random_engine.hpp"

#include "train/kernels/dropout.hpp"
#include "train/kernels/trivial.hpp"

#include <cstdint>

namespace skyline::train::kernels {

/// Changes of sounds and other signals: their width is time, and the height of features is frequency.
struct SignalPlan {
  std::int32_t time_shift = 0;      // most columns, to either side
  std::int32_t time_mask = 0;       // most columns in a row that are masked
  std::int32_t frequency_mask = 0;  // most rows that are masked
  float noise = 0;                  // largest deviation, in units of the network's input

  SKYLINE_DEVICE_CODE bool any() const {
    return time_shift > 0 || time_mask > 0 || frequency_mask > 0 || noise > 0;
  }
};

/// The changes of one signal; none by default.
struct SignalDraw {
  std::int32_t shift = 0;
  std::int32_t mask_left = 0;  // first masked column
  std::int32_t masked_columns = 0;
  std::int32_t mask_top = 0;
  std::int32_t masked_rows = 0;
  float noise = 0;
  std::uint64_t noise_seed = 0;
};

/// Draws the changes of a signal. It draws the same numbers for all options.
/// @see Park et al., Interspeech 2019 (SpecAugment), whose masks these are, one of each
SKYLINE_DEVICE_CODE inline SignalDraw draw_signal(const SignalPlan& plan, std::int32_t height,
                                                  std::int32_t width, std::uint64_t seed) {
  constexpr std::uint64_t kOwnNumbers = 0x7369676e616c5f5fU;
  SignalDraw drawn;
  if (!plan.any()) return drawn;
  RandomEngine random(seed ^ kOwnNumbers);
  const auto at_most = [&random](std::int32_t most) {
    return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(most) + 1));
  };
  drawn.shift = at_most(2 * plan.time_shift) - plan.time_shift;
  drawn.masked_columns = at_most(plan.time_mask);
  drawn.mask_left = at_most(width - drawn.masked_columns);
  drawn.masked_rows = at_most(plan.frequency_mask);
  drawn.mask_top = at_most(height - drawn.masked_rows);
  drawn.noise = plan.noise * (static_cast<float>(at_most(kOneFactor)) / kOneFactor);
  drawn.noise_seed = random.next();
  return drawn;
}

SKYLINE_DEVICE_CODE inline bool is_masked(const SignalDraw& draw, std::int32_t row, std::int32_t column) {
  return (column >= draw.mask_left && column < draw.mask_left + draw.masked_columns) ||
         (row >= draw.mask_top && row < draw.mask_top + draw.masked_rows);
}

/// Returns the noise of a value: the sum of four uniform numbers, which is nearly normal.
/// @param element  place of the value in the signal
SKYLINE_DEVICE_CODE inline float noise_at(const SignalDraw& draw, std::int32_t element) {
  constexpr float kMean = 131070;
  constexpr float kDeviation = 37837.2F;
  const std::uint64_t bits = split_mix_at(draw.noise_seed, static_cast<std::uint64_t>(element));
  const std::uint64_t sum =
      (bits & 0xffffU) + ((bits >> 16) & 0xffffU) + ((bits >> 32) & 0xffffU) + (bits >> 48);
  return draw.noise * ((static_cast<float>(sum) - kMean) / kDeviation);
}

}  // namespace skyline::train::kernels
