#pragma once

#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"

#include "space/quantized/int8_network.hpp"

#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Turns a trained network into an int8 one: grids from the smallest to the largest value over calibration
/// samples, weights by channel, and biases that are shifted, layer by layer, until each channel has the mean
/// of the float32 network. Deterministic, on the CPU.
/// @param tensors       those of the network, in its order
/// @param samples       float32 [samples, channels, height, width], at least one, normalized
/// @param float_output  whether the network's output stays float32, as that of numbers does
/// @throws UserError for a layer kind without int8 steps, and for values that are not finite
space::Int8Network quantize(const space::Network& network, const std::vector<trial::NamedTensor>& tensors,
                            const at::Tensor& samples, bool float_output);

}  // namespace skyline::train
