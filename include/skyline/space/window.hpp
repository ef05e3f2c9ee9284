#pragma once

#include "skyline/space/network.hpp"

namespace skyline::space {

/// The movement of a convolution's or pooling's window over rows and columns.
struct Window {
  Sides kernel = {1, 1};
  Sides stride = {1, 1};
  Sides padding = {0, 0};  // padding above and below, and on the left and right
  Sides dilation = {1, 1};

  /// Returns the window of a layer with the attributes `kernel`, `stride`, `padding`, `dilation`.
  /// @param along_width  true if the window has height 1
  static Window of(const Layer& layer, bool along_width) {
    const auto sides = [&](const char* name, const Sides& neutral) {
      const Sides read = attribute_sides_or(layer, name, neutral);
      return along_width ? Sides{neutral[0], read[1]} : read;
    };
    const Window neutral;
    return {sides("kernel", neutral.kernel), sides("stride", neutral.stride),
            sides("padding", neutral.padding), sides("dilation", neutral.dilation)};
  }
  /// Returns the window of a pooling. On a sequence it has height 1.
  static Window of_pool(const Layer& layer) { return of(layer, layer.input().height == 1); }
};

}  // namespace skyline::space
