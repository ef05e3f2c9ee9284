#pragma once

#include "skyline/train/layer_op.hpp"

#include "core/registry.hpp"

#include <functional>
#include <memory>

namespace skyline::train {

struct DevicePlace;

/// Makes the ops of a kind of layer.
struct OpKind {
  /// The layer's `tensors` and `place` outlive the op.
  std::function<std::unique_ptr<LayerOp>(const space::Layer& layer, LayerTensors& tensors,
                                         const DevicePlace& place)>
      make;
  /// Number of tensors of its output's size that an op keeps for its backward pass, measured on CPUs.
  /// LibTorch keeps some of its own if it differentiates the op.
  int outputs_kept = 2;
  bool takes_bfloat16 = true;  // used if it has hand-written passes
};

using OpList = Registry<OpKind>;

/// Returns the kinds that were added to the program; graph/layer_op.cpp adds the built-in ones.
OpList& layer_ops();

}  // namespace skyline::train
