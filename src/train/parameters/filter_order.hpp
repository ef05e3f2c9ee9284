#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::train {

/// A filter [outputs, inputs, height, width] in an array of numbers.
struct FilterPlace {
  std::size_t first = 0;  // place of its first number
  std::size_t outputs = 0;
  std::size_t inputs = 0;
  std::size_t pixels = 0;
};

/// Reorders filters from planes, where each input's pixels are neighbours, to channels_last, where each
/// pixel's inputs are.
void put_in_channels_last(std::span<float> values, std::span<const FilterPlace> filters);
/// Does the opposite.
void put_in_planes(std::span<float> values, std::span<const FilterPlace> filters);

}  // namespace skyline::train
