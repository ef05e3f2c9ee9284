#pragma once

#include "skyline/space/network.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace skyline::space {

/// For each layer of a child network the layer of the parent that it continues: [child layers], no value for
/// an added layer. Each parent layer is used at most once, and both sides are in topological order. The
/// alignment depends on graphs, kinds, attributes and shapes, not on names. It is the one that shares the
/// most parameters; among equals the one that keeps more layers and more of their wiring, then the one that
/// starts earliest. Output layers continue only each other. Deterministic; a function of the two networks.
/// Cost O(parent layers x child layers).
using NetworkAlignment = std::vector<std::optional<std::size_t>>;
NetworkAlignment align(const Network& parent, const Network& child);

/// Returns the share (0 to 1) of the child's trainable parameters that the parent's fill under an alignment.
/// The common block of each pair of tensors counts.
double inherited_share(const Network& parent, const Network& child, const NetworkAlignment& alignment);

/// The meaning of the indices along one axis of a tensor: segments, one after the other. After a layer that
/// joins its inputs there is one segment per input, otherwise a single one. A segment has channels, rows and
/// columns, in this order; rows and columns are 1 unless channels were flattened.
using Axis = std::vector<Shape>;

/// Returns the axes of a layer's tensor: output features, input features, then the rows and columns of a
/// window, each {1, places, 1}. The common block of two tensors is that of each axis: for segments of the
/// same number the first channels, and rows and columns around their centre.
std::vector<Axis> tensor_axes(const Network& network, std::size_t layer, const TensorSpec& tensor);

/// Returns the tensor of this name in a layer, or nullptr.
const TensorSpec* find_tensor(const Layer& layer, const std::string& name);

}  // namespace skyline::space
