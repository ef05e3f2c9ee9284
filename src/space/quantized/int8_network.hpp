#pragma once

#include "skyline/space/int8_layer.hpp"
#include "skyline/space/layer_kind.hpp"
#include "skyline/space/network.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace skyline::space {

/// A step of an int8 network: a layer or a part of one, with the norms and the clamp that joined it.
struct Int8Step {
  Int8Op op = Int8Op::kLayer;
  std::size_t layer = 0;  // index in the network of the layer whose tensors, name and definition it has
  std::vector<Int8Tensor> inputs = {};
  Int8Tensor output = 0;
  Int8Products products = {};  // kConvolution only
  Window window = {};          // kMaxPool and kAveragePool only
  std::int64_t heads = 1;      // kAttention only
  /// Limits of the output; of kClamp, or joined from a kClamp that followed.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool is_float() const { return op == Int8Op::kAttention || op == Int8Op::kLayer; }
};

/// A network as an int8 runtime runs it: steps in order, without numbers.
/// @see docs/devices.md for the rules
struct Int8View {
  std::vector<Shape> tensors;   // shape of each tensor; tensor 0 is the input after the normalization
  std::vector<Int8Step> steps;  // in the order of the network's layers; each writes one new tensor
  Int8Tensor output = 0;
};

/// Returns the steps of a network. Step i writes tensor i + 1. A step that the output doesn't need is left
/// out, and norms and clamps join the step before them if nothing else reads its output.
/// @throws UserError naming the first layer whose kind says no steps
Int8View int8_view(const Network& network);

/// Returns a line about the first of some kinds of layers that says no int8 steps; nullopt if all do.
/// @param what  what needs the steps, e.g. `costs`
std::optional<std::string> int8_problem(const std::vector<std::string>& kinds, const std::string& what);

/// The grid of a tensor: value = scale * (number - zero), numbers from -128 to 127.
struct Int8Grid {
  float scale = 1;
  std::int32_t zero = -128;
  bool operator==(const Int8Grid&) const = default;
};

/// The whole numbers of a convolution.
struct Int8Weights {
  std::vector<std::int8_t> values;   // [outputs, inputs / groups, rows, columns], -127 to 127
  std::vector<float> scales;         // [outputs]
  std::vector<std::int32_t> biases;  // [outputs], of scale `scale of the input * scales[output]`
};

/// An int8 network with its numbers, made from trained weights and calibration samples.
struct Int8Network {
  Int8View view;
  std::vector<std::optional<Int8Grid>> grids;  // one per tensor; nullopt for one that stays float32
  std::vector<Int8Weights> weights;            // one per step; empty but for kConvolution
};

}  // namespace skyline::space
