#include "train/ops/op_list.hpp"
#include "train/ops/op_tensors.hpp"

#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>

namespace skyline::train {
namespace {

class MultiHeadSelfAttention {
 public:
  MultiHeadSelfAttention(const space::Layer& layer, LayerTensors& tensors)
      : tensors_(tensors),
        heads_(space::attribute_integer(layer, "heads")),
        scale_(1 / std::sqrt(static_cast<double>(layer.input().channels / heads_))) {}

  at::Tensor operator()(const at::Tensor& input) const {
    const at::Tensor tokens = input.squeeze(2).transpose(1, 2);  // [samples, tokens, channels]
    const at::Tensor scores =
        at::matmul(part(tokens, "query").mul(scale_), part(tokens, "key").transpose(2, 3));
    const at::Tensor mixed = at::matmul(at::softmax(scores, -1), part(tokens, "value"));
    const at::Tensor joined = mixed.transpose(1, 2).flatten(2);
    return at::linear(joined, tensors_.value("weight"), tensor_if_any(tensors_, "bias"))
        .transpose(1, 2)
        .unsqueeze(2);
  }

 private:
  /// Returns [samples, heads, tokens, channels of a head].
  at::Tensor part(const at::Tensor& tokens, const std::string& name) const {
    return at::linear(tokens, tensors_.value(name + "_weight"), tensor_if_any(tensors_, name + "_bias"))
        .unflatten(2, {heads_, tokens.size(2) / heads_})
        .transpose(1, 2);
  }

  LayerTensors& tensors_;
  std::int64_t heads_;
  double scale_;
};

at::Tensor embed_patches(const at::Tensor& input, LayerTensors& tensors) {
  const at::Tensor& weight = tensors.value("weight");
  at::Tensor tokens =
      at::conv2d(input, weight, tensors.value("bias"), {weight.size(2), weight.size(3)}).flatten(2);
  if (tensors.has("position")) tokens = tokens.add(tensors.value("position"));
  return tokens.unsqueeze(2);
}

at::Tensor squeeze_and_excite(const at::Tensor& input, LayerTensors& tensors, bool hard) {
  const at::Tensor squeezed = at::relu(
      at::linear(at::mean(input, {2, 3}), tensors.value("reduce_weight"), tensors.value("reduce_bias")));
  const at::Tensor expanded =
      at::linear(squeezed, tensors.value("expand_weight"), tensors.value("expand_bias"));
  const at::Tensor gates = hard ? at::hardsigmoid(expanded) : at::sigmoid(expanded);
  return input.mul(gates.unsqueeze(2).unsqueeze(3));
}

}  // namespace

void add_attention_ops(OpList& ops) {
  ops.add("multi_head_self_attention",
          by_function_of_layer([](const space::Layer& layer, LayerTensors& tensors) {
            return MultiHeadSelfAttention(layer, tensors);
          }));
  ops.add("patch_embedding", by_function_of_layer([](const space::Layer& /*layer*/, LayerTensors& tensors) {
            return [&tensors](const at::Tensor& input) { return embed_patches(input, tensors); };
          }));
  ops.add("squeeze_excitation", by_function_of_layer([](const space::Layer& layer, LayerTensors& tensors) {
            return [&tensors, hard = space::attribute_flag(layer, "hard")](const at::Tensor& input) {
              return squeeze_and_excite(input, tensors, hard);
            };
          }));
}

}  // namespace skyline::train
