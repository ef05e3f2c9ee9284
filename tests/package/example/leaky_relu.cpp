#include "additions.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/leaky_relu_backward.h>

using namespace skyline;

namespace {

class LeakyRelu final : public space::LayerKind {
 public:
  std::string_view name() const override { return "leaky_relu"; }

  void read_attributes(space::Layer& layer, space::AttributeReader& reader) const override {
    layer.attributes["slope"] = reader.number_or("slope", above(0).below(1), 0.01);
  }

  void infer(space::Layer& layer, space::AttributeReader& /*reader*/) const override {
    layer.output = layer.input();
    layer.cost.flops = 2 * layer.input().elements();  // a comparison and a product
  }
};

class LeakyReluOp final : public train::LayerOp {
 public:
  explicit LeakyReluOp(double slope) : slope_(slope) {}

  at::Tensor reference(const train::Activations& inputs, bool /*training*/) override {
    return at::leaky_relu(inputs.front(), slope_);
  }
  bool may_be_recorded() const override { return true; }

  at::Tensor forward(const train::Activations& inputs) override {
    input_ = inputs.front();
    return at::leaky_relu(input_, slope_);
  }
  train::Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    const at::Tensor input = std::move(input_);
    return {at::leaky_relu_backward(gradient, input, slope_, false)};
  }
  at::Tensor infer(const train::Activations& inputs) override {
    return at::leaky_relu(inputs.front(), slope_);
  }

 private:
  double slope_;
  at::Tensor input_;
};

}  // namespace

std::unique_ptr<space::LayerKind> make_leaky_relu_kind() {
  return std::make_unique<LeakyRelu>();
}

std::unique_ptr<train::LayerOp> make_leaky_relu_op(const space::Layer& layer,
                                                   train::LayerTensors& /*tensors*/) {
  return std::make_unique<LeakyReluOp>(space::attribute_number(layer, "slope"));
}
