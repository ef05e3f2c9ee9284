#include "train/device/device_place.hpp"
#include "train/ops/built_in_ops.hpp"

#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

namespace skyline::train {
namespace {

/// Reshapes to [samples, features], features in the order channel, row, column (PyTorch's flatten).
at::Tensor as_matrix(const at::Tensor& activation) {
  return activation.contiguous().view(
      {activation.size(0), activation.size(1) * activation.size(2) * activation.size(3)});
}

at::Tensor as_activation(const at::Tensor& matrix) {
  return matrix.view({matrix.size(0), matrix.size(1), 1, 1});
}

class FlattenOp final : public FusedOp {
 public:
  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    return as_activation(as_matrix(inputs.front()));
  }

  bool may_be_recorded() const override { return true; }

  at::Tensor forward(const Activations& inputs) override {
    shape_ = inputs.front().sizes().vec();
    return as_activation(as_matrix(inputs.front()));
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    return {channels_last(gradient.contiguous().view(shape_))};
  }

  at::Tensor infer(const Activations& inputs) override { return as_activation(as_matrix(inputs.front())); }

 private:
  std::vector<std::int64_t> shape_;
};

class LinearOp final : public FusedOp {
 public:
  LinearOp(const space::Layer& layer, LayerTensors& tensors, const DevicePlace& place)
      : tensors_(tensors), products_(place.type_of_products(layer)), has_bias_(tensors.has("bias")) {}

  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    return as_activation(
        at::linear(as_matrix(inputs.front()), tensors_.value("weight"),
                   has_bias_ ? std::optional<at::Tensor>(tensors_.value("bias")) : std::nullopt));
  }

  bool may_be_recorded() const override { return true; }

  at::Tensor forward(const Activations& inputs) override {
    shape_ = inputs.front().sizes().vec();
    input_ = as_matrix(inputs.front()).to(products_);
    weight_ = tensors_.value("weight").to(products_);
    return as_activation(multiply(input_, weight_));
  }

  Activations backward(at::Tensor gradient, bool wants_input_gradient) override {
    const at::Tensor slope = as_matrix(gradient);
    const at::Tensor weight = std::exchange(weight_, {});
    tensors_.gradient("weight") = product(slope.t(), std::exchange(input_, {})).to(at::kFloat);
    if (has_bias_) {
      tensors_.gradient("bias") = at::sum(slope, 0).to(at::kFloat);
    }
    if (!wants_input_gradient) {
      return {at::Tensor()};
    }
    return {channels_last(product(slope, weight).view(shape_))};
  }

  void prepare_inference() override { inference_weight_ = tensors_.value("weight").to(products_); }

  at::Tensor infer(const Activations& inputs) override {
    return as_activation(multiply(as_matrix(inputs.front()).to(products_), inference_weight_));
  }

 private:
  at::Tensor multiply(const at::Tensor& input, const at::Tensor& weight) {
    if (!has_bias_) return product(input, weight.t());
    const at::Tensor bias = as_factor(tensors_.value("bias").to(products_));
    return at::addmm(bias, as_factor(input), as_factor(weight.t())).to(products_);
  }
  at::Tensor product(const at::Tensor& left, const at::Tensor& right) const {
    return at::mm(as_factor(left), as_factor(right)).to(products_);
  }

  LayerTensors& tensors_;
  at::ScalarType products_;
  bool has_bias_;
  at::Tensor input_;
  at::Tensor weight_;  // of the step, in that type
  at::Tensor inference_weight_;
  std::vector<std::int64_t> shape_;
};

}  // namespace

std::unique_ptr<LayerOp> make_flatten_op(const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
  return std::make_unique<FlattenOp>();
}

std::unique_ptr<LayerOp> make_linear_op(const space::Layer& layer, LayerTensors& tensors,
                                        const DevicePlace& place) {
  return std::make_unique<LinearOp>(layer, tensors, place);
}

}  // namespace skyline::train
