#pragma once

#include "skyline/space/network.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline::space {

/// A value that a network computes.
struct ValueNode {
  Layer layer = {};                       // without inputs
  std::vector<std::size_t> inputs = {};   // earlier nodes; of a sum, its terms
  std::vector<std::int64_t> counts = {};  // of a sum: how often it has each term
  std::uint64_t label = 0;

  bool is_sum() const { return !counts.empty(); }
};

/// The values that a network's output depends on. Node 0 is the network's input.
struct ValueGraph {
  std::vector<ValueNode> nodes;
  std::size_t output = 0;
};

/// The graph of these layers without identities, zeros in sums, sums of sums, layers that compute the same
/// twice, and layers that the output does not depend on; these keep their numbers, without inputs.
ValueGraph simplified(std::vector<Layer> layers);

/// Gives the nodes labels that differ and depend on the graph alone, not on the order of its nodes.
/// @see colour refinement with individualization, as in McKay, Congressus Numerantium 30, 1981
void label_nodes(ValueGraph& graph);

}  // namespace skyline::space
