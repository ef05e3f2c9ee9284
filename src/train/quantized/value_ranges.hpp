#pragma once

#include "skyline/space/network.hpp"

#include "space/quantized/int8_network.hpp"
#include "train/quantized/int8_numbers.hpp"
#include "train/quantized/real_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Samples that are calibrated on at once; another number could change the last bits of ranges.
constexpr std::int64_t kCalibrationBatch = 64;

/// The values of a tensor over the calibration samples, in the float32 network.
struct ValueRange {
  double low = 0;
  double high = 0;
  std::vector<double> channel_means = {};  // [channels]; empty unless the tensor is the output of products
};

/// Returns for each tensor the index of the last step that reads it. That of the network's output, and of a
/// tensor without readers, is the number of steps.
std::vector<std::size_t> last_readers(const space::Int8View& view);

/// Runs the float32 network with folded weights over samples, in batches of a fixed size. Returns a range for
/// each tensor of the view, after the limits of its step.
/// @param products  of each step; empty but for kConvolution
/// @param samples   float32 [samples, channels, height, width], normalized
/// @throws UserError naming the first layer with a value that is not finite, and the sample
std::vector<ValueRange> value_ranges(const space::Network& network, const space::Int8View& view,
                                     const RealSteps& real, const std::vector<FoldedProducts>& products,
                                     const at::Tensor& samples);

/// Returns the weights of a convolution as a tensor.
/// @param values   [outputs, inputs / groups, rows, columns]
/// @param outputs  channels of the output
template <typename Value>
at::Tensor weight_tensor(const std::vector<Value>& values, std::size_t outputs, const space::Window& window,
                         at::ScalarType type);

/// Returns the sums over samples and places of each channel. @param values  [samples, channels, ...]
std::vector<double> channel_sums(const at::Tensor& values);

}  // namespace skyline::train
