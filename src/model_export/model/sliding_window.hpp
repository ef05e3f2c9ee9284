#pragma once

#include "skyline/space/network.hpp"

#include <array>
#include <cstdint>

namespace skyline::model_export {

/// How the window of a convolution or pooling slides over rows and columns.
struct SlidingWindow {
  std::array<std::int64_t, 2> kernel;
  std::array<std::int64_t, 2> stride;
  std::array<std::int64_t, 2> padding;  // at both ends
  std::array<std::int64_t, 2> dilation;

  /// @param along_width  the window has height 1
  static SlidingWindow of(const space::Layer& layer, bool along_width) {
    const auto both = [&](const char* name, std::int64_t fallback, std::int64_t in_height) {
      const std::int64_t size = space::attribute_integer_or(layer, name, fallback);
      return std::array{along_width ? in_height : size, size};
    };
    return {both("kernel", 1, 1), both("stride", 1, 1), both("padding", 0, 0), both("dilation", 1, 1)};
  }
  /// Of a pooling: over a sequence it has height 1.
  static SlidingWindow of_pool(const space::Layer& layer) { return of(layer, layer.input().height == 1); }
};

}  // namespace skyline::model_export
