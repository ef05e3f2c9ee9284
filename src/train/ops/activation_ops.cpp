#include "train/ops/op_list.hpp"
#include "train/ops/op_tensors.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/prelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/threshold_backward.h>

namespace skyline::train {
namespace {

class ReluOp final : public FusedOp {
 public:
  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    return at::relu(inputs.front());
  }

  bool may_be_recorded() const override { return true; }

  at::Tensor forward(const Activations& inputs) override {
    output_ = at::relu(inputs.front());
    return output_;
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    at::Tensor input_gradient = at::threshold_backward(gradient, output_, 0);
    output_.reset();
    return {input_gradient};
  }

  at::Tensor infer(const Activations& inputs) override {
    if (!is_only_owner(inputs.front())) return at::relu(inputs.front());
    at::Tensor output = inputs.front();
    return at::relu_(output);
  }

 private:
  at::Tensor output_;
};

}  // namespace

void add_activation_ops(OpList& ops) {
  ops.add("elu", by_function_of_layer([](const space::Layer& layer, LayerTensors& /*tensors*/) {
            return [alpha = space::attribute_number(layer, "alpha")](const at::Tensor& input) {
              return at::elu(input, alpha);
            };
          }));
  ops.add("gelu", by_function([](const at::Tensor& input) { return at::gelu(input); }));
  ops.add("hard_sigmoid", by_function([](const at::Tensor& input) { return at::hardsigmoid(input); }));
  ops.add("hard_swish", by_function([](const at::Tensor& input) { return at::hardswish(input); }));
  ops.add("leaky_relu", by_function_of_layer([](const space::Layer& layer, LayerTensors& /*tensors*/) {
            return [slope = space::attribute_number(layer, "slope")](const at::Tensor& input) {
              return at::leaky_relu(input, slope);
            };
          }));
  ops.add("prelu", by_function_of_layer([](const space::Layer& /*layer*/, LayerTensors& tensors) {
            return [&tensors](const at::Tensor& input) { return at::prelu(input, tensors.value("slope")); };
          }));
  ops.add("relu", of_class<ReluOp>());
  ops.add("relu6", by_function([](const at::Tensor& input) { return at::hardtanh(input, 0, 6); }));
  ops.add("sigmoid", by_function([](const at::Tensor& input) { return at::sigmoid(input); }));
  ops.add("silu", by_function([](const at::Tensor& input) { return at::silu(input); }));
  ops.add("softmax", by_function([](const at::Tensor& input) { return at::softmax(input, 1); }));
  ops.add("tanh", by_function([](const at::Tensor& input) { return at::tanh(input); }));
}

}  // namespace skyline::train
