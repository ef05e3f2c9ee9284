#pragma once

#include "skyline/space/network.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline::space {

/// A value that a network computes.
struct ValueNode {
  Layer layer = {};                       // the layer, without its inputs
  std::vector<std::size_t> inputs = {};   // earlier nodes; for a sum its terms
  std::vector<std::int64_t> counts = {};  // [term]: how often it occurs in the sum
  std::uint64_t label = 0;

  bool is_sum() const { return !counts.empty(); }
};

/// The values that a network's output depends on. Node 0 is the network's input.
struct ValueGraph {
  std::vector<ValueNode> nodes;
  std::size_t output = 0;
};

/// Returns the graph of these layers without identities, zeros in sums, sums of sums, and layers that compute
/// the same twice. Layers that the output does not depend on keep their numbers, but have no inputs.
ValueGraph simplified(std::vector<Layer> layers);

/// Gives the nodes different labels that depend only on the graph, not on the order of its nodes.
/// @see colour refinement with individualization, as in McKay, Congressus Numerantium 30, 1981
void label_nodes(ValueGraph& graph);

}  // namespace skyline::space
