#pragma once

#include "skyline/train/layer_op.hpp"

#include "train/parameters/parameter_store.hpp"

#include <memory>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

namespace skyline::train {

/// Makes the thread's tensor operations skip autograd in a scope, as cheaply as c10::InferenceMode. Unlike
/// there, an AutogradOp can use the tensors of the scope.
class WithoutAutograd {
  at::NoGradGuard no_gradients_;
  at::AutoDispatchBelowAutograd below_;
};

/// Gives passes to a layer that has only a definition: autograd differentiates it, layer by layer. An op that
/// has passes is returned unchanged.
/// @param tensors  tensors of the layer; must outlive the op
std::unique_ptr<FusedOp> with_passes(std::unique_ptr<LayerOp> op, StoredLayer& tensors);

}  // namespace skyline::train
