#include "train/optimizer.hpp"

#include "skyline/core/error.hpp"

#include "train/kernels/optimizer_kernels.hpp"

#include <cmath>

#include <ATen/ops/zeros.h>

namespace skyline::train {

Optimizer::Optimizer(const OptimizerOptions& options, ParameterStore& parameters) : options_(options) {
  const bool adam = options.kind == OptimizerOptions::Kind::kAdam;
  std::int64_t total = 0;
  for (StoredLayer& layer : parameters.layers()) {
    for (StoredTensor& tensor : layer.tensors()) {
      if (tensor.trainable) {
        items_.push_back({&tensor, static_cast<std::size_t>(tensor.value.numel()), nullptr, nullptr});
        total += tensor.value.numel();
      }
    }
  }
  state_ = at::zeros({adam ? 2 * total : total}, at::kFloat);
  float* next = state_.mutable_data_ptr<float>();
  for (Item& item : items_) {
    item.first_moment = next;
    item.second_moment = adam ? next + total : nullptr;
    next += item.count;
  }
}

const float* Optimizer::gradient_of(const Item& item) {
  at::Tensor& gradient = item.tensor->gradient;
  if (!gradient.defined()) {
    return nullptr;
  }
  // Elements must be in the order of the parameter's.
  gradient = gradient.contiguous(gradient.dim() == 4 ? at::MemoryFormat::ChannelsLast
                                                     : at::MemoryFormat::Contiguous);
  require(static_cast<std::size_t>(gradient.numel()) == item.count,
          "a gradient has another size than its parameter");
  return gradient.const_data_ptr<float>();
}

std::span<float> Optimizer::state() {
  return {state_.mutable_data_ptr<float>(), static_cast<std::size_t>(state_.numel())};
}

std::span<const float> Optimizer::state() const {
  return {state_.const_data_ptr<float>(), static_cast<std::size_t>(state_.numel())};
}

void Optimizer::step() {
  ++steps_;
  if (options_.kind == OptimizerOptions::Kind::kAdam) {
    step_adam();
  } else {
    step_sgd();
  }
}

void Optimizer::step_adam() {
  const auto count = static_cast<double>(steps_);
  const kernels::AdamStep step{
      .beta1 = static_cast<float>(options_.beta1),
      .beta2 = static_cast<float>(options_.beta2),
      .epsilon = static_cast<float>(options_.epsilon),
      .weight_decay = static_cast<float>(options_.weight_decay),
      .step_size = static_cast<float>(options_.learning_rate / (1 - std::pow(options_.beta1, count))),
      .inverse_root_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(options_.beta2, count)))};
  for (const Item& item : items_) {
    if (const float* gradient = gradient_of(item)) {
      kernels::adam(step, item.count, gradient, item.tensor->value.mutable_data_ptr<float>(),
                    item.first_moment, item.second_moment);
    }
  }
}

void Optimizer::step_sgd() {
  const kernels::SgdStep step{.learning_rate = static_cast<float>(options_.learning_rate),
                              .momentum = static_cast<float>(options_.momentum),
                              .weight_decay = static_cast<float>(options_.weight_decay),
                              .nesterov = options_.nesterov};
  for (const Item& item : items_) {
    if (const float* gradient = gradient_of(item)) {
      kernels::sgd(step, item.count, gradient, item.tensor->value.mutable_data_ptr<float>(),
                   item.first_moment);
    }
  }
}

}  // namespace skyline::train
