#include "train/ops/built_in_ops.hpp"
#include "train/ops/function_op.hpp"

#include <ATen/core/Tensor.h>

namespace skyline::train {

std::unique_ptr<LayerOp> make_identity_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return function_op([](const at::Tensor& input) { return input; });
}

std::unique_ptr<LayerOp> make_zero_op(const space::Layer& layer, LayerTensors& /*tensors*/) {
  return function_op([shape = layer.output](const at::Tensor& input) {
    return input.new_zeros({input.size(0), shape.channels, shape.height, shape.width});
  });
}

}  // namespace skyline::train
