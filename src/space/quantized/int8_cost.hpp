#pragma once

#include "skyline/space/network.hpp"

#include "space/quantized/int8_network.hpp"

#include <cstdint>
#include <vector>

namespace skyline::space {

/// The bytes of activations while a step runs.
struct Int8Activations {
  std::int64_t alive = 0;   // bytes of all tensors that exist, and of the inner activations of the step
  std::int64_t ending = 0;  // bytes of the tensors that no later step needs
};

/// Returns the bytes of activations while each step runs, in order: the network's input from the start, and
/// each tensor from the step that writes it, to the last step that reads it. A number takes one byte, and
/// four in a tensor that a float step reads or writes. Views are no copies, and sums are not in place.
/// Attention has its scores besides, and a float layer its inner activations.
std::vector<Int8Activations> int8_activations(const Int8View& view, const Network& network);
/// Returns the largest number of bytes of activations that exist at once.
std::int64_t int8_peak_activation_bytes(const Int8View& view, const Network& network);
/// Returns the size of the weights: one byte each, and twelve for each output of a convolution, its bias,
/// multiplier and shift. Those of layers that stay in float take four bytes.
std::int64_t int8_weight_bytes(const Int8View& view, const Network& network);
/// Fills in the costs in int8 of a network. @throws UserError if the kind of a layer says no int8 steps
void add_int8_costs(Network& network);

}  // namespace skyline::space
