#include "model_export/tflite/tflite_weights.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::model_export {
namespace {

/// One axis of a border.
struct Side {
  std::int64_t before = 0;
  std::int64_t after = 0;
  bool is_same = false;  // whether TFLite's `same` adds this
};

Side side_of(const space::Window& window, std::size_t axis, std::int64_t input, std::int64_t output) {
  const std::int64_t reach = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
  const std::int64_t stride = window.stride[axis];
  const std::int64_t before = window.padding[axis];
  const auto missing = [&](std::int64_t outputs) {
    return std::max<std::int64_t>((outputs - 1) * stride + reach - input, 0);
  };
  const std::int64_t same = (input + stride - 1) / stride;
  return {before, std::max<std::int64_t>(missing(output) - before, 0),
          output == same && missing(same) / 2 == before};
}

/// Returns the values, [outputs, inputs, places], with the inputs last or with the outputs last.
template <typename Value>
std::vector<Value> channels_last(const std::vector<Value>& values, const FilterSize& size,
                                 bool is_depthwise) {
  const auto outputs = static_cast<std::size_t>(size.outputs);
  const auto inputs = static_cast<std::size_t>(size.inputs);
  const auto places = static_cast<std::size_t>(size.kernel[0] * size.kernel[1]);
  std::vector<Value> ordered(values.size());
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t p = 0; p < places; ++p) {
        const std::size_t to = is_depthwise ? p * outputs + o : (o * places + p) * inputs + i;
        ordered[to] = values[(o * inputs + i) * places + p];
      }
    }
  }
  return ordered;
}

}  // namespace

Border border_of(const space::Window& window, const space::Shape& input, const space::Shape& output) {
  const std::array sides{side_of(window, 0, input.height, output.height),
                         side_of(window, 1, input.width, output.width)};
  const auto is_none = [](const Side& side) { return side.before == 0 && side.after == 0; };
  if (std::ranges::all_of(sides, is_none)) return {};
  if (std::ranges::all_of(sides, &Side::is_same)) return {.padding = TflitePadding::kSame};
  return {.is_explicit = true,
          .before = {sides[0].before, sides[1].before},
          .after = {sides[0].after, sides[1].after}};
}

std::optional<space::Window> same_window(const space::Window& window, const space::Shape& input,
                                         const space::Shape& output) {
  const std::array inputs{input.height, input.width};
  const std::array outputs{output.height, output.width};
  space::Window same = window;
  for (std::size_t axis = 0; axis < inputs.size(); ++axis) {
    while (!side_of(same, axis, inputs[axis], outputs[axis]).is_same) {
      // What a stride passes over is the most that `same` lacks.
      if (++same.kernel[axis] >= window.kernel[axis] + window.stride[axis]) return std::nullopt;
    }
  }
  return same;
}

FilterTensors filter_tensors(const space::Int8Weights& weights, const FilterSize& size, bool is_depthwise,
                             float input_scale, bool is_float) {
  const auto number = [](std::int64_t each) { return static_cast<std::int32_t>(each); };
  const std::int32_t rows = number(size.kernel[0]);
  const std::int32_t columns = number(size.kernel[1]);
  std::vector<std::int32_t> dims{number(size.outputs), rows, columns, number(size.inputs)};
  if (is_depthwise) dims = {1, rows, columns, number(size.outputs)};
  const std::int32_t axis = is_depthwise ? 3 : 0;
  std::vector<float> bias_scales = weights.scales;
  for (float& scale : bias_scales) scale *= input_scale;
  if (!is_float) {
    return {{.dims = dims,
             .scales = weights.scales,
             .axis = axis,
             .values = bytes_of(channels_last(weights.values, size, is_depthwise))},
            {.dims = {number(size.outputs)},
             .type = TfliteType::kInt32,
             .scales = bias_scales,
             .values = bytes_of(weights.biases)}};
  }
  std::vector<float> values(weights.values.begin(), weights.values.end());
  const std::size_t each = values.size() / weights.scales.size();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= weights.scales[i / each];
  std::vector<float> biases(weights.biases.begin(), weights.biases.end());
  for (std::size_t i = 0; i < biases.size(); ++i) biases[i] *= bias_scales[i];
  return {{.dims = dims,
           .type = TfliteType::kFloat32,
           .values = bytes_of(channels_last(values, size, is_depthwise))},
          {.dims = {number(size.outputs)}, .type = TfliteType::kFloat32, .values = bytes_of(biases)}};
}

space::Int8Weights with_kernel(const space::Int8Weights& weights, const std::array<std::int64_t, 2>& from,
                               const std::array<std::int64_t, 2>& to) {
  space::Int8Weights larger{{}, weights.scales, weights.biases};
  const auto places = static_cast<std::size_t>(to[0] * to[1]);
  const auto rows = std::ssize(weights.values) / from[1];
  larger.values.resize(weights.values.size() / static_cast<std::size_t>(from[0] * from[1]) * places);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(weights.values.begin() + row * from[1], from[1],
                larger.values.begin() + (row / from[0] * to[0] + row % from[0]) * to[1]);
  }
  return larger;
}

space::Int8Weights int8_line(double slope, double offset, double input_scale, std::int64_t channels) {
  constexpr double kMostWeight = 127;
  constexpr double kMostBias = 0x1p30;
  const double scale = std::max(slope / kMostWeight, std::abs(offset) / (kMostBias * input_scale));
  const auto count = static_cast<std::size_t>(channels);
  return {std::vector(count, static_cast<std::int8_t>(std::nearbyint(slope / scale))),
          std::vector(count, static_cast<float>(scale)),
          std::vector(count, static_cast<std::int32_t>(std::nearbyint(offset / (scale * input_scale))))};
}

}  // namespace skyline::model_export
