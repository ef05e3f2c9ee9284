#pragma once

#include "skyline/space/network.hpp"
#include "skyline/space/window.hpp"

#include "model_export/tflite/tflite_ops.hpp"
#include "space/quantized/int8_network.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace skyline::model_export {

/// What a window needs around its input, rows and columns.
struct Border {
  TflitePadding padding = TflitePadding::kValid;
  bool is_explicit = false;  // an operator must add the border before
  std::array<std::int64_t, 2> before = {0, 0};
  std::array<std::int64_t, 2> after = {0, 0};
};

/// Returns the border of a window. `same` of TFLite pads the first side less than the last one.
Border border_of(const space::Window& window, const space::Shape& input, const space::Shape& output);

/// Returns a window with a larger kernel, around which `same` of TFLite adds the border that this one needs,
/// if what is added to the weights at the end of each axis is 0; nullopt if there is none.
std::optional<space::Window> same_window(const space::Window& window, const space::Shape& input,
                                         const space::Shape& output);

/// The size of weights: [outputs, inputs of a group, rows, columns].
struct FilterSize {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::array<std::int64_t, 2> kernel = {1, 1};
};

/// Weights and biases as tensors of a convolution, without names.
struct FilterTensors {
  TfliteTensor weight;
  TfliteTensor bias;
};

/// Brings weights into TFLite's order: [outputs, rows, columns, inputs], or [1, rows, columns, outputs] for
/// a depthwise convolution.
/// @param is_float  true for real values instead of whole numbers
FilterTensors filter_tensors(const space::Int8Weights& weights, const FilterSize& size, bool is_depthwise,
                             float input_scale, bool is_float);

/// Returns weights of a larger kernel: 0 after the last row and column.
space::Int8Weights with_kernel(const space::Int8Weights& weights, const std::array<std::int64_t, 2>& from,
                               const std::array<std::int64_t, 2>& to);

/// Returns the weights of `slope * x + offset` by channel, as a depthwise convolution.
space::Int8Weights int8_line(double slope, double offset, double input_scale, std::int64_t channels);

}  // namespace skyline::model_export
