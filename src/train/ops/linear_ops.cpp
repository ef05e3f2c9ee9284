#include "train/device/device_place.hpp"
#include "train/ops/fusing_op.hpp"
#include "train/ops/op_list.hpp"
#include "train/ops/op_tensors.hpp"

#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

namespace skyline::train {
namespace {

class LinearOp final : public FusingOp {
 public:
  LinearOp(const space::Layer& layer, LayerTensors& tensors, const DevicePlace& place)
      : tensors_(tensors),
        place_(place),
        products_(place.type_of_products(layer)),
        has_bias_(tensors.has("bias")) {}

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
    if (has_bias_) tensors_.gradient("bias") = at::sum(slope, 0).to(at::kFloat);
    if (!wants_input_gradient) return {at::Tensor()};
    return {place_.arranged(product(slope, weight).view(shape_))};
  }

  void prepare_inference() override { inference_weight_ = tensors_.value("weight").to(products_); }

  at::Tensor infer(const Activations& inputs) override {
    return as_activation(multiply(as_matrix(inputs.front()).to(products_), inference_weight_));
  }

 private:
  at::Tensor multiply(const at::Tensor& input, const at::Tensor& weight) {
    if (!has_bias_) return product(input, weight.t());
    if (place_.order ==
        at::MemoryFormat::Contiguous) {  // on GPUs, where addmm takes a slow kernel and two more
      return product(input, weight.t()).add_(tensors_.value("bias"));
    }
    const at::Tensor bias = as_factor(tensors_.value("bias").to(products_));
    return at::addmm(bias, as_factor(input), as_factor(weight.t())).to(products_);
  }
  at::Tensor product(const at::Tensor& left, const at::Tensor& right) const {
    return at::mm(as_factor(left), as_factor(right)).to(products_);
  }

  LayerTensors& tensors_;
  const DevicePlace& place_;
  at::ScalarType products_;
  bool has_bias_;
  at::Tensor input_;
  at::Tensor weight_;  // weight of the step, in that type
  at::Tensor inference_weight_;
  std::vector<std::int64_t> shape_;
};

}  // namespace

void add_linear_ops(OpList& ops) {
  ops.add("linear", of_class<LinearOp>());
}

}  // namespace skyline::train
