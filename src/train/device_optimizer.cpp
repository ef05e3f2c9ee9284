#include "train/device_optimizer.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <iterator>

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {
namespace {

/// The elements in the order of a parameter's memory: channels_last if it has four axes.
at::Tensor in_memory_order(const at::Tensor& tensor) {
  return (tensor.dim() == 4 ? tensor.permute({0, 2, 3, 1}) : tensor).reshape({-1});
}

}  // namespace

DeviceOptimizer::DeviceOptimizer(const OptimizerOptions& options, ParameterStore& parameters)
    : options_(options), kinds_(options.kind == OptimizerOptions::Kind::kAdam ? 2 : 1) {
  const at::Tensor& block = parameters.block();
  moments_ = at::zeros({static_cast<std::int64_t>(kinds_), block.numel()}, block.options());
  steps_ = at::zeros({}, block.options());
  for (StoredLayer& layer : parameters.layers()) {
    for (StoredTensor& tensor : layer.tensors()) {
      if (!tensor.trainable) {
        continue;
      }
      Item item;
      item.parameter = tensor.value;
      const std::int64_t first = tensor.value.storage_offset();
      const std::int64_t count = tensor.value.numel();
      item.value = block.narrow(0, first, count);
      for (std::size_t kind = 0; kind < kinds_; ++kind) {
        item.moments[kind] = moments_.select(0, static_cast<std::int64_t>(kind)).narrow(0, first, count);
      }
      if (!tensor.value.requires_grad()) {
        item.fixed_gradient = at::zeros_like(item.value);
      }
      elements_ += static_cast<std::size_t>(count);
      items_.push_back(std::move(item));
    }
  }
}

void DeviceOptimizer::clear_gradients() {
  for (Item& item : items_) {
    item.parameter.mutable_grad().reset();
  }
}

/// Undefined: nothing of the loss depends on the parameter.
at::Tensor DeviceOptimizer::gradient_of(const Item& item) {
  if (item.fixed_gradient.defined()) {
    return item.fixed_gradient;
  }
  const at::Tensor& gradient = item.parameter.grad();
  return gradient.defined() ? in_memory_order(gradient) : at::Tensor();
}

std::vector<at::Tensor> DeviceOptimizer::gradients() const {
  std::vector<at::Tensor> gradients;
  std::ranges::transform(items_, std::back_inserter(gradients), gradient_of);
  return gradients;
}

void DeviceOptimizer::update(const at::Tensor& rate, const std::vector<at::Tensor>& gradients) {
  std::vector<at::Tensor> values;
  std::vector<at::Tensor> used;
  std::vector<at::Tensor> first_moments;
  std::vector<at::Tensor> second_moments;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (gradients[i].defined()) {
      values.push_back(items_[i].value);
      used.push_back(gradients[i]);
      first_moments.push_back(items_[i].moments[0]);
      second_moments.push_back(items_[i].moments[1]);
    }
  }
  steps_.add_(1);  // first: the update wants the number of this step
  if (options_.kind == OptimizerOptions::Kind::kAdam) {
    const std::vector<at::Tensor> steps(values.size(), steps_);
    at::_fused_adam_(values, used, first_moments, second_moments, {}, steps, rate, options_.beta1,
                     options_.beta2, options_.weight_decay, options_.epsilon, false, false);
  } else {
    // Velocities start as zeros, so that the first step needs no other treatment.
    const at::TensorList velocities =
        options_.momentum > 0 ? at::TensorList(first_moments) : at::TensorList();
    at::_fused_sgd_(values, used, velocities, options_.weight_decay, options_.momentum, rate, 0,
                    options_.nesterov, false, false);
  }
  clear_gradients();
}

void DeviceOptimizer::write_state(std::span<float> state) const {
  require(state.size() == state_size(), "an optimizer's state of another size");
  std::vector<at::Tensor> parts;
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    for (const Item& item : items_) {
      parts.push_back(item.moments[kind]);
    }
  }
  at::from_blob(state.data(), {static_cast<std::int64_t>(state.size())}, at::kFloat).copy_(at::cat(parts));
}

void DeviceOptimizer::read_state(std::span<const float> state, std::int64_t steps_done) {
  require(state.size() == state_size(), "an optimizer's state of another size");
  auto* const values = const_cast<float*>(state.data());  // only read
  const at::Tensor all =
      at::from_blob(values, {static_cast<std::int64_t>(state.size())}, at::kFloat).to(moments_.device());
  std::int64_t first = 0;
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    for (Item& item : items_) {
      item.moments[kind].copy_(all.narrow(0, first, item.moments[kind].numel()));
      first += item.moments[kind].numel();
    }
  }
  steps_.fill_(static_cast<double>(steps_done));
}

}  // namespace skyline::train
