#pragma once

#include "skyline/space/network.hpp"

#include <array>
#include <cstdint>

namespace skyline::train {

/// How the square window of a convolution or pooling slides over an activation.
struct Window {
  std::array<std::int64_t, 2> kernel;
  std::array<std::int64_t, 2> stride;
  std::array<std::int64_t, 2> padding = {0, 0};  // on each side

  static Window of(const space::Layer& layer) {
    const std::int64_t size = space::attribute_integer(layer, "kernel");
    const std::int64_t step = space::attribute_integer(layer, "stride");
    const std::int64_t border =
        layer.attributes.contains("padding") ? space::attribute_integer(layer, "padding") : 0;
    return {{size, size}, {step, step}, {border, border}};
  }
};

}  // namespace skyline::train
