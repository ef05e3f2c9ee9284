#include "train/device/device_place.hpp"
#include "train/ops/op_list.hpp"
#include "train/ops/op_tensors.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>

namespace skyline::train {
namespace {

/// An op whose pass in evaluation mode is its definition.
class MergeOp : public FusedOp {
 public:
  MergeOp(const space::Layer& /*layer*/, const DevicePlace& place) : place_(place) {}
  bool may_be_recorded() const final { return true; }
  at::Tensor infer(const Activations& inputs) final { return place_.arranged(reference(inputs, false)); }

 protected:
  const DevicePlace& place_;
};

class AddOp final : public MergeOp {
 public:
  using MergeOp::MergeOp;
  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    at::Tensor sum = inputs[0].add(inputs[1]);
    for (std::size_t i = 2; i < inputs.size(); ++i) sum = sum.add(inputs[i]);
    return sum;
  }

  at::Tensor forward(const Activations& inputs) override {
    count_ = inputs.size();
    return place_.arranged(reference(inputs, true));
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    Activations gradients{gradient};
    while (gradients.size() < count_) gradients.push_back(gradient.clone());
    return gradients;
  }

 private:
  std::size_t count_ = 0;
};

class ConcatOp final : public MergeOp {
 public:
  using MergeOp::MergeOp;
  at::Tensor reference(const Activations& inputs, bool /*training*/) override { return at::cat(inputs, 1); }

  at::Tensor forward(const Activations& inputs) override {
    channels_.clear();
    for (const at::Tensor& input : inputs) channels_.push_back(input.size(1));
    return place_.arranged(at::cat(inputs, 1));
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    Activations gradients;
    std::int64_t first = 0;
    for (const std::int64_t channels : channels_) {
      gradients.push_back(gradient.narrow(1, first, channels).clone(place_.order));
      first += channels;
    }
    return gradients;
  }

 private:
  std::vector<std::int64_t> channels_;
};

/// Multiplies inputs. Factors with one value per channel apply to all pixels.
class MultiplyOp final : public MergeOp {
 public:
  using MergeOp::MergeOp;
  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    at::Tensor product = inputs[0].mul(inputs[1]);
    for (std::size_t i = 2; i < inputs.size(); ++i) product = product.mul(inputs[i]);
    return product;
  }

  at::Tensor forward(const Activations& inputs) override {
    inputs_ = inputs;
    return place_.arranged(reference(inputs, true));
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    Activations gradients;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      at::Tensor slope = gradient;
      for (std::size_t other = 0; other < inputs_.size(); ++other) {
        if (other != i) slope = slope.mul(inputs_[other]);
      }
      if (inputs_[i].sizes() != gradient.sizes()) slope = slope.sum({2, 3}, true);
      gradients.push_back(place_.arranged(slope));
    }
    inputs_.clear();
    return gradients;
  }

 private:
  Activations inputs_;
};

}  // namespace

void add_merge_ops(OpList& ops) {
  ops.add("add", of_class<AddOp>());
  ops.add("concat", of_class<ConcatOp>());
  ops.add("multiply", of_class<MultiplyOp>());
}

}  // namespace skyline::train
