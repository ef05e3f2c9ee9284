#pragma once

#include "skyline/space/network.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace skyline::space {

/// The layer of a parent network that each layer of a child continues: [child layers], nothing for an added
/// layer. Each parent layer is used at most once, and both sides are in topological order. The alignment
/// depends on graphs, kinds, attributes and shapes, not on names: it is the one that shares the most
/// parameters; among equals the one that keeps more layers and more of their wiring, then the one that starts
/// earliest. The output layers continue one another only. Deterministic; a function of the two networks. Cost
/// O(parent layers x child layers).
using NetworkAlignment = std::vector<std::optional<std::size_t>>;
NetworkAlignment align(const Network& parent, const Network& child);

/// Share of the child's trainable parameters that the parent's fill under an alignment (the common block of
/// each pair of tensors), 0 to 1.
double inherited_share(const Network& parent, const Network& child, const NetworkAlignment& alignment);

/// The meaning of the indices of one axis of a tensor: segments, one behind the other. Behind a layer that
/// joins its inputs there is one per input, else a single one. A segment has channels, rows and columns, in
/// this order; rows and columns are 1 unless channels were flattened.
using Axis = std::vector<Shape>;

/// The axes of a layer's tensor: output features, input features, then the rows and columns of a window, each
/// {1, places, 1}. The common block of two tensors is that of each axis: of segments of the same number the
/// leading channels, and rows and columns about their centre.
std::vector<Axis> tensor_axes(const Network& network, std::size_t layer, const TensorSpec& tensor);

/// The tensor of this name in a layer; nullptr if there is none.
const TensorSpec* find_tensor(const Layer& layer, const std::string& name);

}  // namespace skyline::space
