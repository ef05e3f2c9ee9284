#pragma once

#include "skyline/space/layer_kind.hpp"

#include "train/device/host_accelerator.hpp"
#include "train/host_step.hpp"
#include "train/parameters/parameter_store.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {

/// The oracle of training steps: each layer's definition in plain ATen, autograd, ATen's optimizers, all in
/// float64. Starts from the same values for a seed as the step for use. `network` outlives it.
class ReferenceStep {
 public:
  ReferenceStep(const space::Network& network, const OptimizerOptions& options, std::uint64_t seed)
      : network_(network), options_(options), seed_(seed), parameters_(network, seed) {
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      if (space::traits_of(network.layers[i]).draws) place_.drawing_layers.push_back(network.layers[i].name);
      ops_.push_back(make_graph_op(network.layers[i], parameters_.layer(i), place_).op);
      for (StoredTensor& tensor : parameters_.layer(i).tensors()) {
        tensor.value = tensor.value.detach().to(at::kDouble);
        if (tensor.trainable) {
          tensor.value.set_requires_grad(true);
          values_.push_back(tensor.value);
          // PyTorch's programs put norms and biases into a parameter group of their own.
          const bool decays = options.decayed == OptimizerOptions::Decayed::kAll || tensor.value.dim() > 1;
          decays_.push_back(decays ? 1.0 : 0.0);
          first_moments_.push_back(at::zeros_like(tensor.value));
          second_moments_.push_back(at::zeros_like(tensor.value));
          counts_.push_back(at::full({}, 0, at::kFloat));
        }
      }
    }
  }

  double step(const at::Tensor& images, std::span<const std::int32_t> labels) {
    for (const std::unique_ptr<FusedOp>& op : ops_) {
      op->begin_step(step_seed(seed_, steps_done_));
    }
    place_.seeds = test::seeds_of(place_.drawing_layers, step_seed(seed_, steps_done_));
    const std::vector<std::int64_t> wide(labels.begin(), labels.end());
    const at::Tensor loss = at::cross_entropy_loss(forward(images.to(at::kDouble), true), at::tensor(wide));
    loss.backward();
    const at::NoGradGuard no_gradients;
    update();
    return loss.item<double>();
  }

  at::Tensor infer(const at::Tensor& images) {
    const at::NoGradGuard no_gradients;
    return forward(images.to(at::kDouble), false);
  }

  /// Number of the values that autograd differentiates by.
  std::int64_t trained_values() const {
    std::int64_t count = 0;
    for (const at::Tensor& value : values_) count += value.numel();
    return count;
  }

  std::vector<trial::NamedTensor> export_tensors() {
    std::vector<trial::NamedTensor> exported;
    for (std::size_t i = 0; i < network_.layers.size(); ++i) {
      for (const StoredTensor& tensor : parameters_.layer(i).tensors()) {
        const at::Tensor dense = tensor.value.detach().to(at::kFloat).contiguous();
        const float* data = dense.const_data_ptr<float>();
        exported.push_back(
            {network_.layers[i].name + "." + tensor.name, dense.sizes().vec(), {data, data + dense.numel()}});
      }
    }
    return exported;
  }

 private:
  at::Tensor forward(const at::Tensor& images, bool training) {
    std::vector<at::Tensor> outputs;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      Activations inputs;
      for (const std::size_t input : network_.layers[i].inputs) {
        inputs.push_back(outputs[input]);
      }
      if (inputs.empty()) {
        inputs.push_back(images);
      }
      outputs.push_back(ops_[i]->reference(inputs, training));
    }
    return outputs.back().flatten(1);
  }

  void update() {
    std::vector<at::Tensor> gradients;
    for (at::Tensor& value : values_) {
      gradients.push_back(value.grad().defined() ? value.grad() : at::zeros_like(value));
    }
    clip(gradients);
    if (options_.kind == OptimizerOptions::Kind::kAdamW) {
      update_by_adamw(gradients);
    } else if (options_.kind == OptimizerOptions::Kind::kAdam) {
      // The op does not count steps itself, and wants the number of this one.
      std::for_each(counts_.begin(), counts_.end(), [](at::Tensor& count) { count.add_(1); });
      at::_fused_adam_(values_, gradients, first_moments_, second_moments_, {}, counts_,
                       options_.learning_rate, options_.beta1, options_.beta2, options_.weight_decay,
                       options_.epsilon, false, false);
    } else {
      const at::TensorList velocities =
          options_.momentum > 0 ? at::TensorList(first_moments_) : at::TensorList();
      for (std::size_t i = 0; i < values_.size(); ++i) {
        gradients[i] = gradients[i].add(values_[i], options_.weight_decay * decays_[i]);
      }
      at::_fused_sgd_(values_, gradients, velocities, 0, options_.momentum, options_.learning_rate, 0,
                      options_.nesterov, false, steps_done_ == 0);
    }
    ++steps_done_;
    for (at::Tensor& value : values_) {
      value.mutable_grad() = at::Tensor();
    }
  }

  /// torch.nn.utils.clip_grad_norm_
  void clip(std::vector<at::Tensor>& gradients) const {
    if (options_.clip_norm == 0) return;
    double squares = 0;
    for (const at::Tensor& gradient : gradients)
      squares += gradient.to(at::kDouble).square().sum().item<double>();
    const double factor = std::min(1.0, options_.clip_norm / (std::sqrt(squares) + 1e-6));
    for (at::Tensor& gradient : gradients) gradient = gradient.mul(factor);
  }

  /// torch.optim.AdamW's formulas, line by line.
  void update_by_adamw(const std::vector<at::Tensor>& gradients) {
    const auto count = static_cast<double>(steps_done_ + 1);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      at::Tensor& value = values_[i];
      value.mul_(1 - options_.learning_rate * options_.decoupled_decay * decays_[i]);
      first_moments_[i].mul_(options_.beta1).add_(gradients[i], 1 - options_.beta1);
      second_moments_[i].mul_(options_.beta2).addcmul_(gradients[i], gradients[i], 1 - options_.beta2);
      const at::Tensor deviation =
          second_moments_[i].sqrt().div_(std::sqrt(1 - std::pow(options_.beta2, count)));
      value.addcdiv_(first_moments_[i], deviation.add_(options_.epsilon),
                     -options_.learning_rate / (1 - std::pow(options_.beta1, count)));
    }
  }

  const space::Network& network_;
  OptimizerOptions options_;
  std::uint64_t seed_;
  ParameterStore parameters_;
  std::unique_ptr<Accelerator> accelerator_ = make_host_accelerator(Kernels::kOwn);
  DevicePlace place_{.accelerator = accelerator_.get()};
  std::vector<std::unique_ptr<FusedOp>> ops_;
  std::vector<at::Tensor> values_;
  std::vector<double> decays_;  // of the values: 0 or 1
  std::vector<at::Tensor> first_moments_;
  std::vector<at::Tensor> second_moments_;
  std::vector<at::Tensor> counts_;
  std::int64_t steps_done_ = 0;
};

}  // namespace skyline::train
