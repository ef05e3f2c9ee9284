#pragma once

#include "skyline/space/network.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace skyline::space {

/// Which layer of a parent network each layer of a child continues: [child layers], each parent layer at most
/// once, in topological order on both sides; nothing for an added layer. By the graphs and the kinds,
/// attributes and shapes of layers, not by names: the alignment that shares the most parameters.
/// Deterministic; a function of the two networks.
using NetworkAlignment = std::vector<std::optional<std::size_t>>;
NetworkAlignment align(const Network& parent, const Network& child);

/// Share of the child's trainable parameters that the parent's fill under an alignment (the common block of
/// each pair of tensors), 0 to 1.
double inherited_share(const Network& parent, const Network& child, const NetworkAlignment& alignment);

}  // namespace skyline::space
