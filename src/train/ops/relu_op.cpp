#include "train/ops/built_in_ops.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/relu.h>
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
    if (!is_only_owner(inputs.front())) {
      return at::relu(inputs.front());
    }
    at::Tensor output = inputs.front();
    return at::relu_(output);
  }

 private:
  at::Tensor output_;
};

}  // namespace

std::unique_ptr<LayerOp> make_relu_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return std::make_unique<ReluOp>();
}

}  // namespace skyline::train
