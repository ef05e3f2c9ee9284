#include "train/ops/built_in_ops.hpp"
#include "train/ops/function_op.hpp"

#include <ATen/core/Tensor.h>

namespace skyline::train {
namespace {

/// To mean 0 and variance 1 over these dimensions.
at::Tensor normalized(const at::Tensor& values, at::IntArrayRef dims, double epsilon) {
  const at::Tensor centred = values.sub(values.mean(dims, /*keepdim=*/true));
  return centred.mul(centred.square().mean(dims, /*keepdim=*/true).add(epsilon).rsqrt());
}

/// Scaled and shifted by channel, where the layer has tensors for it.
at::Tensor affine(at::Tensor values, LayerTensors& tensors) {
  if (!tensors.has("weight")) return values;
  return values.mul(tensors.value("weight").view({1, -1, 1, 1}))
      .add(tensors.value("bias").view({1, -1, 1, 1}));
}

}  // namespace

std::unique_ptr<LayerOp> make_layer_norm_op(const space::Layer& layer, LayerTensors& tensors) {
  return function_op(
      [&tensors, epsilon = space::attribute_number(layer, "epsilon")](const at::Tensor& input) {
        return affine(normalized(input, {1}, epsilon), tensors);
      });
}

std::unique_ptr<LayerOp> make_group_norm_op(const space::Layer& layer, LayerTensors& tensors) {
  return function_op([&tensors, groups = space::attribute_integer(layer, "groups"),
                      epsilon = space::attribute_number(layer, "epsilon")](const at::Tensor& input) {
    const at::Tensor parts = input.unflatten(1, {groups, input.size(1) / groups});
    return affine(normalized(parts, {2, 3, 4}, epsilon).flatten(1, 2), tensors);
  });
}

std::unique_ptr<LayerOp> make_instance_norm_op(const space::Layer& layer, LayerTensors& tensors) {
  return function_op(
      [&tensors, epsilon = space::attribute_number(layer, "epsilon")](const at::Tensor& input) {
        return affine(normalized(input, {2, 3}, epsilon), tensors);
      });
}

}  // namespace skyline::train
