#pragma once

#include "skyline/space/window.hpp"

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Returns whether a window takes single pixels, and leaves some out.
inline bool takes_single_pixels(const space::Window& window) {
  constexpr std::array<std::int64_t, 2> kOne = {1, 1};
  return window.kernel == kOne && window.padding == std::array<std::int64_t, 2>{0, 0} &&
         window.stride != kOne;
}

/// Returns the pixels that a convolution of single pixels takes. oneDNN's own way of skipping the others
/// writes past its memory where a processor without AVX-512 has few channels.
/// @param stride  only every n-th pixel is taken, in each direction
/// @see github.com/uxlfoundation/oneDNN/issues/6035
inline at::Tensor thinned(const at::Tensor& input, const std::array<std::int64_t, 2>& stride) {
  if (stride[0] <= 1 && stride[1] <= 1) return input;
  return input.slice(2, 0, input.size(2), stride[0]).slice(3, 0, input.size(3), stride[1]);
}

}  // namespace skyline::train
