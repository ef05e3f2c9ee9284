#pragma once

#include "skyline/core/random_engine.hpp"

#include "train/kernels/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace skyline::train::kernels {

/// The elements of an activation that dropout keeps. They depend only on seed and position, so that the
/// backward pass repeats the draws of the forward pass and nothing is stored.
struct DropoutMask {
  std::uint64_t seed;
  std::uint32_t threshold;  // an element is kept if its 32 random bits are at least this
  float scale;              // factor of kept elements: 1 / (1 - probability)
  std::uint64_t first = 0;  // position of the first element, for a part of a batch's activation
};

/// @param probability  probability of being dropped, from 0 to below 1, in steps of 2^-32
inline DropoutMask dropout_mask(std::uint64_t seed, double probability) {
  const double threshold = std::min(std::round(std::ldexp(probability, 32)), std::ldexp(1.0, 32) - 1);
  return {seed, static_cast<std::uint32_t>(threshold), static_cast<float>(1 / (1 - probability))};
}

/// Distance between the seeds of two sequences, if the second is the first without its first number.
constexpr std::uint64_t kSplitMixStep = 0x9e3779b97f4a7c15U;

/// Returns number `index` of the SplitMix64 sequence of `seed`.
/// @see Steele, Lea and Flood, OOPSLA 2014
SKYLINE_DEVICE_CODE inline std::uint64_t split_mix_at(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t mixed = seed + (index + 1) * kSplitMixStep;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

/// Returns whether an element is kept. Two elements share a number; the first one uses the lower half.
/// @param position  place in the batch's activation
SKYLINE_DEVICE_CODE inline bool is_kept(const DropoutMask& mask, std::size_t position) {
  const std::uint64_t bits = split_mix_at(mask.seed, position / 2) >> (32 * (position % 2));
  return static_cast<std::uint32_t>(bits) >= mask.threshold;
}

/// The arrays of a dropout on a device: target[i] = source[i] * mask.scale if mask.first + i is kept, else 0.
struct DropoutPlan {
  DropoutMask mask;                    // its seed is replaced by `seed`
  const std::int64_t* seed = nullptr;  // []
  std::size_t count = 0;
  Values source;
  Values target;  // same type as `source`; may be `source`
};

/// Drops elements on the host, with the mask's own seed; the same bits for any number of threads.
void dropout(const DropoutMask& mask, std::size_t count, const Values& source, const Values& target);

}  // namespace skyline::train::kernels
