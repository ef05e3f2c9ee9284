#pragma once

#include "skyline/space/network.hpp"

#include <array>
#include <cstdint>

namespace skyline::space {

/// The movement of a convolution's or pooling's window over rows and columns.
struct Window {
  std::array<std::int64_t, 2> kernel = {1, 1};
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> padding = {0, 0};  // padding on each side
  std::array<std::int64_t, 2> dilation = {1, 1};

  /// Returns the window of a layer with the attributes `kernel`, `stride`, `padding`, `dilation`.
  /// @param along_width  true if the window has height 1
  static Window of(const Layer& layer, bool along_width) {
    const auto both = [&](const char* name, std::int64_t fallback, std::int64_t in_height) {
      const std::int64_t size = attribute_integer_or(layer, name, fallback);
      return std::array{along_width ? in_height : size, size};
    };
    return {both("kernel", 1, 1), both("stride", 1, 1), both("padding", 0, 0), both("dilation", 1, 1)};
  }
  /// Returns the window of a pooling. On a sequence it has height 1.
  static Window of_pool(const Layer& layer) { return of(layer, layer.input().height == 1); }
};

}  // namespace skyline::space
