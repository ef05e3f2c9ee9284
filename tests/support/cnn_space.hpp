#pragma once

namespace skyline::testing {

/// The `space` section of the reference system's sample: 192 architectures of a small CNN.
inline constexpr const char* kCnnSpace = R"(
parameters:
  depth:  {range: [1, 12]}
  kernel: {choice: [1, 3, 5, 7]}
  width:  {choice: [16, 32, 64, 128]}
network:
  - repeat: $depth
    body:
      - conv2d: {channels: $width, kernel: $kernel, padding: same}
      - batch_norm
      - relu
  - global_average_pool
  - linear: {features: $classes}
)";

}  // namespace skyline::testing
