#include "train/quantized/real_steps.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/ops/single_pixels.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <ATen/ops/amax.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

namespace skyline::train {
namespace {

using space::Int8Op;

/// Places whose whole numbers of an int8 tensor have a sum that is exact in float32.
constexpr std::int64_t kMostExactPlaces = (std::int64_t{1} << 24) / 255;
constexpr std::size_t kMostReason = 200;  // bytes of a text of LibTorch in a message

at::Tensor in_double(const trial::NamedTensor& tensor) {
  auto* const values = const_cast<float*>(tensor.values.data());  // it is only read
  return at::from_blob(values, tensor.dims, at::kFloat).to(at::kDouble);
}

/// Returns a type in which a sum over so many places is exact.
at::ScalarType type_of_sum(std::int64_t places) {
  return places <= kMostExactPlaces ? at::kFloat : at::kDouble;
}

at::Tensor average_pool(const at::Tensor& input, const space::Window& window) {
  const at::Tensor wide = input.to(type_of_sum(window.kernel[0] * window.kernel[1]));
  return at::avg_pool2d(wide, window.kernel, window.stride, window.padding, /*ceil_mode=*/false,
                        /*count_include_pad=*/false)
      .to(at::kFloat);
}

/// Returns [samples, heads, tokens, channels of a head], float64.
at::Tensor heads_of(const at::Tensor& values, std::int64_t heads) {
  return values.to(at::kDouble).flatten(2).unflatten(1, {heads, values.size(1) / heads}).transpose(2, 3);
}

/// Mixes values by queries, which are already scaled, and keys; all [samples, channels, 1, tokens].
at::Tensor attention(const Activations& inputs, std::int64_t heads) {
  const at::Tensor scores =
      at::matmul(heads_of(inputs[0], heads), heads_of(inputs[1], heads).transpose(2, 3));
  const at::Tensor mixed = at::matmul(at::softmax(scores, -1), heads_of(inputs[2], heads));
  return mixed.transpose(2, 3).reshape(inputs[0].sizes()).to(at::kFloat);
}

}  // namespace

at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    const space::Int8Products& products) {
  space::Window window = products.window;
  at::Tensor taken = input;
  if (products.groups == 1 && takes_single_pixels(window)) {
    taken = thinned(input, window.stride);
    window.stride = {1, 1};
  }
  return at::convolution(taken, weight, bias, window.stride, window.padding, window.dilation, false, {0, 0},
                         products.groups);
}

RealSteps::RealSteps(const space::Network& network, const space::Int8View& view,
                     const std::vector<trial::NamedTensor>& tensors)
    : host_(make_host_accelerator(Kernels::kOwn)), view_(view) {
  place_.accelerator = host_.get();
  std::size_t next = 0;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const space::Layer& layer = network.layers[i];
    const std::size_t first = std::exchange(next, next + layer.tensors.size());
    require(next <= tensors.size(), "tensors that are not those of the network");
    const auto is_whole = [i](const space::Int8Step& step) {
      return step.op == Int8Op::kLayer && step.layer == i;
    };
    if (std::ranges::none_of(view.steps, is_whole)) continue;
    WholeLayer& whole = layers_[i];
    whole.name = layer.name;
    for (std::size_t t = 0; t < layer.tensors.size(); ++t) {
      const space::TensorSpec& spec = layer.tensors[t];
      whole.tensors.tensors().push_back(
          {spec.name, spec.trainable, in_double(tensors[first + t]), at::Tensor()});
    }
    whole.op = make_graph_op(layer, whole.tensors, place_).op;
  }
}

at::Tensor RealSteps::compute(const space::Int8Step& step, const Activations& inputs,
                              std::int64_t samples) const {
  const space::Shape& shape = view_.tensors[step.output];
  switch (step.op) {
    case Int8Op::kAdd:
      return inputs[0].add(inputs[1]);
    case Int8Op::kMultiply:
      return inputs[0].mul(inputs[1]);
    case Int8Op::kConcat:
      return at::cat(inputs, 1);
    case Int8Op::kMaxPool:
      return std::get<0>(at::max_pool2d_with_indices(inputs[0], step.window.kernel, step.window.stride,
                                                     step.window.padding));
    case Int8Op::kAveragePool:
      return average_pool(inputs[0], step.window);
    case Int8Op::kMean:
      return at::mean(inputs[0].to(type_of_sum(inputs[0].size(2) * inputs[0].size(3))), {2, 3}, true)
          .to(at::kFloat);
    case Int8Op::kMaximum:
      return at::amax(inputs[0], {2, 3}, true);
    case Int8Op::kClamp:
      return inputs[0];
    case Int8Op::kSigmoid:
      return at::sigmoid(inputs[0]);
    case Int8Op::kHardSigmoid:
      return at::hardsigmoid(inputs[0]);
    case Int8Op::kHardSwish:
      return at::hardswish(inputs[0]);
    case Int8Op::kTanh:
      return at::tanh(inputs[0]);
    case Int8Op::kSoftmax:
      return at::softmax(inputs[0].to(at::kDouble), 1).to(at::kFloat);
    case Int8Op::kView:
      return inputs[0].contiguous().view({samples, shape.channels, shape.height, shape.width});
    case Int8Op::kZeros:
      return at::zeros({samples, shape.channels, shape.height, shape.width}, at::kFloat);
    case Int8Op::kAttention:
      return attention(inputs, step.heads);
    case Int8Op::kLayer:
      break;
    case Int8Op::kConvolution:
      throw InternalError("a step with weights has no definition without them");
  }
  return compute_layer(step.layer, inputs);
}

at::Tensor RealSteps::compute_layer(std::size_t layer, const Activations& inputs) const {
  const WholeLayer& whole = layers_.at(layer);
  Activations doubles;
  for (const at::Tensor& input : inputs) doubles.push_back(input.to(at::kDouble));
  try {
    return whole.op->reference(doubles, /*training=*/false).to(at::kFloat);
  } catch (const c10::Error& error) {
    throw UserError("int8: " + whole.name + " cannot be computed in float64: " +
                    shortened(error.what_without_backtrace(), kMostReason));
  }
}

}  // namespace skyline::train
