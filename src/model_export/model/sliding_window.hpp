#pragma once

#include "skyline/space/network.hpp"

#include <array>
#include <cstdint>

namespace skyline::model_export {

/// The movement of a convolution's or pooling's window over rows and columns.
struct SlidingWindow {
  std::array<std::int64_t, 2> kernel;
  std::array<std::int64_t, 2> stride;
  std::array<std::int64_t, 2> padding;  // padding at both ends
  std::array<std::int64_t, 2> dilation;

  /// @param along_width  true if the window has height 1
  static SlidingWindow of(const space::Layer& layer, bool along_width) {
    const auto both = [&](const char* name, std::int64_t fallback, std::int64_t in_height) {
      const std::int64_t size = space::attribute_integer_or(layer, name, fallback);
      return std::array{along_width ? in_height : size, size};
    };
    return {both("kernel", 1, 1), both("stride", 1, 1), both("padding", 0, 0), both("dilation", 1, 1)};
  }
  /// Returns the window of a pooling. On a sequence it has height 1.
  static SlidingWindow of_pool(const space::Layer& layer) { return of(layer, layer.input().height == 1); }
};

}  // namespace skyline::model_export
