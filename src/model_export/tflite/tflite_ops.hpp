#pragma once

#include "skyline/space/window.hpp"

#include "model_export/tflite/flatbuffer.hpp"
#include "model_export/tflite/tflite_graph.hpp"

namespace skyline::model_export {

// The operators that int8 networks have.
inline constexpr TfliteOp kTfliteAdd{.code = 0, .version = 2, .options = 11, .name = "Add"};
inline constexpr TfliteOp kTfliteAveragePool{.code = 1, .version = 2, .options = 5, .name = "AveragePool2D"};
inline constexpr TfliteOp kTfliteConcat{.code = 2, .version = 2, .options = 10, .name = "Concatenation"};
inline constexpr TfliteOp kTfliteConvolution{.code = 3, .version = 3, .options = 1, .name = "Conv2D"};
inline constexpr TfliteOp kTfliteDepthwise{.code = 4, .version = 3, .options = 2, .name = "DepthwiseConv2D"};
inline constexpr TfliteOp kTfliteDequantize{.code = 6, .version = 2, .name = "Dequantize"};
inline constexpr TfliteOp kTfliteHardSwish{.code = 117, .name = "HardSwish"};
inline constexpr TfliteOp kTfliteMaxPool{.code = 17, .version = 2, .options = 5, .name = "MaxPool2D"};
inline constexpr TfliteOp kTfliteMean{.code = 40, .version = 2, .options = 27, .name = "Mean"};
inline constexpr TfliteOp kTfliteMultiply{.code = 18, .version = 2, .options = 21, .name = "Mul"};
inline constexpr TfliteOp kTflitePad{.code = 60, .version = 2, .name = "PadV2"};
inline constexpr TfliteOp kTfliteQuantize{.code = 114, .version = 2, .name = "Quantize"};
inline constexpr TfliteOp kTfliteReshape{.code = 22, .options = 17, .name = "Reshape"};
inline constexpr TfliteOp kTfliteSigmoid{.code = 14, .version = 2, .name = "Logistic"};
inline constexpr TfliteOp kTfliteSoftmax{.code = 25, .version = 2, .options = 9, .name = "Softmax"};
inline constexpr TfliteOp kTfliteTanh{.code = 28, .version = 2, .name = "Tanh"};
inline constexpr TfliteOp kTfliteTranspose{.code = 39, .version = 2, .name = "Transpose"};

/// How a window begins: at places that the kernel itself adds on some sides, or at the first value.
enum class TflitePadding : std::uint8_t { kSame = 0, kValid = 1 };

// Options of operators. Fields that are left out are 0, as in the schema.
/// @param limits  number of the function of the output, 0 for none
inline FlatTable convolution_options(const space::Window& window, TflitePadding padding,
                                     std::uint8_t limits) {
  FlatTable options;
  options.add_byte(0, static_cast<std::uint8_t>(padding));
  options.add_integer(1, window.stride[1]);
  options.add_integer(2, window.stride[0]);
  options.add_byte(3, limits);
  options.add_integer(4, window.dilation[1]);
  options.add_integer(5, window.dilation[0]);
  return options;
}
/// @param multiplier  outputs of each input channel
inline FlatTable depthwise_options(const space::Window& window, TflitePadding padding,
                                   std::int64_t multiplier, std::uint8_t limits) {
  FlatTable options;
  options.add_byte(0, static_cast<std::uint8_t>(padding));
  options.add_integer(1, window.stride[1]);
  options.add_integer(2, window.stride[0]);
  options.add_integer(3, multiplier);
  options.add_byte(4, limits);
  options.add_integer(5, window.dilation[1]);
  options.add_integer(6, window.dilation[0]);
  return options;
}
inline FlatTable pool_options(const space::Window& window, TflitePadding padding) {
  FlatTable options;
  options.add_byte(0, static_cast<std::uint8_t>(padding));
  options.add_integer(1, window.stride[1]);
  options.add_integer(2, window.stride[0]);
  options.add_integer(3, window.kernel[1]);
  options.add_integer(4, window.kernel[0]);
  return options;
}
inline FlatTable concat_options() {
  constexpr std::int64_t kChannels = 3;
  FlatTable options;
  options.add_integer(0, kChannels);
  return options;
}
inline FlatTable mean_options() {
  FlatTable options;
  options.add_byte(0, 1);  // the axes stay, of size 1
  return options;
}
inline FlatTable softmax_options() {
  FlatTable options;
  options.add_float(0, 1);  // factor of the values
  return options;
}
inline FlatTable reshape_options(const std::vector<std::int32_t>& dims) {
  FlatTable options;
  options.add_numbers(0, std::span<const std::int32_t>(dims));
  return options;
}

}  // namespace skyline::model_export
