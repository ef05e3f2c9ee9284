#include "train/ops/built_in_ops.hpp"
#include "train/ops/function_op.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/prelu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>

namespace skyline::train {

std::unique_ptr<LayerOp> make_elu_op(const space::Layer& layer, LayerTensors& /*tensors*/) {
  return function_op([alpha = space::attribute_number(layer, "alpha")](const at::Tensor& input) {
    return at::elu(input, alpha);
  });
}

std::unique_ptr<LayerOp> make_gelu_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return function_op([](const at::Tensor& input) { return at::gelu(input); });
}

std::unique_ptr<LayerOp> make_hard_sigmoid_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return function_op([](const at::Tensor& input) { return at::hardsigmoid(input); });
}

std::unique_ptr<LayerOp> make_hard_swish_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return function_op([](const at::Tensor& input) { return at::hardswish(input); });
}

std::unique_ptr<LayerOp> make_leaky_relu_op(const space::Layer& layer, LayerTensors& /*tensors*/) {
  return function_op([slope = space::attribute_number(layer, "slope")](const at::Tensor& input) {
    return at::leaky_relu(input, slope);
  });
}

std::unique_ptr<LayerOp> make_prelu_op(const space::Layer& /*layer*/, LayerTensors& tensors) {
  return function_op(
      [&tensors](const at::Tensor& input) { return at::prelu(input, tensors.value("slope")); });
}

std::unique_ptr<LayerOp> make_relu6_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return function_op([](const at::Tensor& input) { return at::hardtanh(input, 0, 6); });
}

std::unique_ptr<LayerOp> make_sigmoid_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return function_op([](const at::Tensor& input) { return at::sigmoid(input); });
}

std::unique_ptr<LayerOp> make_silu_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return function_op([](const at::Tensor& input) { return at::silu(input); });
}

std::unique_ptr<LayerOp> make_softmax_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return function_op([](const at::Tensor& input) { return at::softmax(input, 1); });
}

std::unique_ptr<LayerOp> make_tanh_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return function_op([](const at::Tensor& input) { return at::tanh(input); });
}

}  // namespace skyline::train
