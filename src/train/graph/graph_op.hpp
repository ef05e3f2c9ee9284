#pragma once

#include "skyline/train/layer_op.hpp"

#include "train/device/device_place.hpp"
#include "train/graph/parameter_store.hpp"

#include <memory>

namespace skyline::train {

/// The op of a layer in a graph.
struct GraphOp {
  std::unique_ptr<FusedOp> op;
  bool takes_bfloat16 = false;  // else its inputs are float32, whatever the place's products are
};

/// Makes the op of a layer for a place, by autograd if it has a definition alone.
/// @param tensors  of the layer; outlives the op
/// @param place    outlives the op; nullptr: the CPU, with kernels of our own
GraphOp make_graph_op(const space::Layer& layer, StoredLayer& tensors, DevicePlace* place);

}  // namespace skyline::train
