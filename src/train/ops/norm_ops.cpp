#include "train/ops/batch_norm_op.hpp"
#include "train/ops/op_list.hpp"

#include <ATen/core/Tensor.h>

namespace skyline::train {
namespace {

constexpr int kOutputsKept = 4;  // LibTorch keeps these for the steps of a definition

/// Normalizes to mean 0 and variance 1 over these dimensions.
at::Tensor normalized(const at::Tensor& values, at::IntArrayRef dims, double epsilon) {
  const at::Tensor centred = values.sub(values.mean(dims, /*keepdim=*/true));
  return centred.mul(centred.square().mean(dims, /*keepdim=*/true).add(epsilon).rsqrt());
}

/// Scales and shifts by channel, if the layer has tensors for that.
at::Tensor affine(at::Tensor values, LayerTensors& tensors) {
  if (!tensors.has("weight")) return values;
  return values.mul(tensors.value("weight").view({1, -1, 1, 1}))
      .add(tensors.value("bias").view({1, -1, 1, 1}));
}

}  // namespace

void add_norm_ops(OpList& ops) {
  ops.add("batch_norm", {.make = make_batch_norm_op, .outputs_kept = 1});
  OpKind layer_norm = by_function_of_layer([](const space::Layer& layer, LayerTensors& tensors) {
    return [&tensors, epsilon = space::attribute_number(layer, "epsilon")](const at::Tensor& input) {
      return affine(normalized(input, {1}, epsilon), tensors);
    };
  });
  OpKind group_norm = by_function_of_layer([](const space::Layer& layer, LayerTensors& tensors) {
    return [&tensors, groups = space::attribute_integer(layer, "groups"),
            epsilon = space::attribute_number(layer, "epsilon")](const at::Tensor& input) {
      const at::Tensor parts = input.unflatten(1, {groups, input.size(1) / groups});
      return affine(normalized(parts, {2, 3, 4}, epsilon).flatten(1, 2), tensors);
    };
  });
  OpKind instance_norm = by_function_of_layer([](const space::Layer& layer, LayerTensors& tensors) {
    return [&tensors, epsilon = space::attribute_number(layer, "epsilon")](const at::Tensor& input) {
      return affine(normalized(input, {2, 3}, epsilon), tensors);
    };
  });
  for (OpKind* const kind : {&layer_norm, &group_norm, &instance_norm}) kind->outputs_kept = kOutputsKept;
  ops.add("layer_norm", std::move(layer_norm));
  ops.add("group_norm", std::move(group_norm));
  ops.add("instance_norm", std::move(instance_norm));
}

}  // namespace skyline::train
