#include "train/ops/built_in_ops.hpp"
#include "train/ops/function_op.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>

namespace skyline::train {

std::unique_ptr<LayerOp> make_conv1d_op(const space::Layer& layer, LayerTensors& tensors) {
  return function_op([&tensors, window = Window::of(layer),
                      groups = space::attribute_integer_or(layer, "groups", 1)](const at::Tensor& input) {
    return at::conv1d(input.squeeze(2), tensors.value("weight"), tensor_if_any(tensors, "bias"),
                      window.stride[1], window.padding[1], window.dilation[1], groups)
        .unsqueeze(2);
  });
}

std::unique_ptr<LayerOp> make_separable_conv2d_op(const space::Layer& layer, LayerTensors& tensors) {
  return function_op([&tensors, window = Window::of(layer)](const at::Tensor& input) {
    const at::Tensor by_channel = at::conv2d(input, tensors.value("depthwise_weight"), {}, window.stride,
                                             window.padding, window.dilation, /*groups=*/input.size(1));
    return at::conv2d(by_channel, tensors.value("weight"), tensor_if_any(tensors, "bias"));
  });
}

}  // namespace skyline::train
