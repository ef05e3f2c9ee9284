#pragma once

#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"

#include "space/quantized/int8_network.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyline::train {

constexpr std::int32_t kLeastInt8 = -128;
constexpr std::int32_t kMostInt8 = 127;

/// Rounds to the nearest whole number, half to even, within limits. @pre the value is no NaN
double rounded(double value, double least, double most);

/// Returns the grid of values in a range, which is widened to hold 0: a zero is exact, and with it padding.
space::Int8Grid grid_of(double low, double high);
/// Returns the grid of an op whose outputs have the same range in every network, or nullopt.
std::optional<space::Int8Grid> fixed_grid(space::Int8Op op);
/// Returns whether an op's output has the grid of its input, since it only moves or chooses numbers.
bool keeps_grid(space::Int8Op op);

/// The weights and biases of a step, with its factor and its norms multiplied into them.
struct FoldedProducts {
  std::int64_t outputs = 0;
  std::vector<double> weights = {};  // [outputs, inputs / groups, rows, columns]
  std::vector<double> biases = {};   // [outputs]
};

/// Folds a step of kConvolution.
/// @param tensors  those of the network, in its order
FoldedProducts folded_products(const space::Network& network, const std::vector<trial::NamedTensor>& tensors,
                               const space::Int8Step& step);

/// Turns weights into whole numbers with a scale for each output. A scale is wider than the weights need
/// where the bias would not fit into 31 bits. Beside weights that are all 0 it keeps the digits of the bias.
/// @param input  grid of the input
space::Int8Weights quantized_weights(const FoldedProducts& products, const space::Int8Grid& input);
/// Adds numbers to the biases. @param shifts  [outputs], in the units of the output
void shift_biases(space::Int8Weights& weights, const space::Int8Grid& input,
                  const std::vector<double>& shifts);
/// Returns whether every sum of an output and the sums on the way to it are exact in float32, in any order.
bool fits_float(const space::Int8Weights& weights);

}  // namespace skyline::train
