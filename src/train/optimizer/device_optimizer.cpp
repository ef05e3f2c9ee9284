#include "train/optimizer/device_optimizer.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <iterator>

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {

DeviceOptimizer::DeviceOptimizer(const OptimizerOptions& options, ParameterStore& parameters)
    : DeviceOptimizer(options, parameters, {{0, static_cast<std::size_t>(parameters.block().numel())}}) {}

DeviceOptimizer::DeviceOptimizer(const OptimizerOptions& options, ParameterStore& parameters,
                                 const std::vector<MemoryRange>& owned)
    : options_(options),
      kinds_(options.kind == OptimizerOptions::Kind::kAdam ? 2 : 1),
      steps_(at::zeros({}, parameters.block().options())) {
  for (StoredLayer& layer : parameters.layers()) {
    for (StoredTensor& tensor : layer.tensors()) {
      if (tensor.trainable) {
        const std::size_t first = parameters.offset_of(tensor);
        const auto count = static_cast<std::size_t>(tensor.value.numel());
        places_.push_back({first, first + count});
        parameters_.push_back(&tensor);
        elements_ += count;
      }
    }
  }
  for (const MemoryRange& range : owned) {
    own(parameters, range);
  }
}

void DeviceOptimizer::own(ParameterStore& parameters, const MemoryRange& range) {
  const at::Tensor& block = parameters.block();
  const auto size = static_cast<std::int64_t>(range.end - range.begin);
  moments_.push_back(at::zeros({static_cast<std::int64_t>(kinds_), size}, block.options()));
  std::size_t position = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::size_t begin = std::max(places_[i].begin, range.begin);
    const std::size_t end = std::min(places_[i].end, range.end);
    if (begin < end) {
      const auto count = static_cast<std::int64_t>(end - begin);
      Item item;
      item.parameter = parameters_[i];
      item.place = {begin, end};
      item.position = position + (begin - places_[i].begin);
      item.value = block.narrow(0, static_cast<std::int64_t>(begin), count);
      for (std::size_t kind = 0; kind < kinds_; ++kind) {
        item.moments[kind] = moments(kind, moments_.size() - 1)
                                 .narrow(0, static_cast<std::int64_t>(begin - range.begin), count);
      }
      if (parameters_[i]->gradient.defined()) {
        item.fixed_gradient = in_memory_order(parameters_[i]->gradient);
      }
      items_.push_back(std::move(item));
    }
    position += places_[i].end - places_[i].begin;
  }
}

at::Tensor DeviceOptimizer::moments(std::size_t kind, std::size_t range) const {
  return moments_.at(range).select(0, static_cast<std::int64_t>(kind));
}

/// The gradient of an item; undefined if the loss does not depend on the parameter.
at::Tensor DeviceOptimizer::gradient_of(const Item& item) {
  if (item.fixed_gradient.defined()) {
    return item.fixed_gradient;
  }
  const at::Tensor& gradient = item.parameter->gradient;
  return gradient.defined() ? in_memory_order(gradient) : at::Tensor();
}

void DeviceOptimizer::step(const at::Tensor& rate) {
  require(items_.size() == parameters_.size(), "a step of an optimizer that owns a part of the parameters");
  std::vector<at::Tensor> gradients;
  std::ranges::transform(items_, std::back_inserter(gradients), gradient_of);
  update(rate, gradients);
  for (StoredTensor* parameter : parameters_) {
    parameter->gradient.reset();
  }
}

std::vector<MemoryRange> DeviceOptimizer::pieces() const {
  std::vector<MemoryRange> pieces;
  std::ranges::transform(items_, std::back_inserter(pieces), &Item::place);
  return pieces;
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
  steps_.add_(1);  // first, since the update needs the number of this step
  if (values.empty()) {
    return;
  }
  if (options_.kind == OptimizerOptions::Kind::kAdam) {
    const std::vector<at::Tensor> steps(values.size(), steps_);
    at::_fused_adam_(values, used, first_moments, second_moments, {}, steps, rate, options_.beta1,
                     options_.beta2, options_.weight_decay, options_.epsilon, false, false);
  } else {
    // Velocities start at zero, so the first step needs no special case.
    const at::TensorList velocities =
        options_.momentum > 0 ? at::TensorList(first_moments) : at::TensorList();
    at::_fused_sgd_(values, used, velocities, options_.weight_decay, options_.momentum, rate, 0,
                    options_.nesterov, false, false);
  }
}

void DeviceOptimizer::write_state(std::span<float> state) const {
  require(items_.size() == parameters_.size(), "the whole state of an optimizer that owns a part of it");
  std::vector<at::Tensor> all;
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    all.push_back(moments(kind, 0));
  }
  write_state(all, state);
}

void DeviceOptimizer::write_state(const std::vector<at::Tensor>& moments, std::span<float> state) const {
  require(state.size() == state_size(), "an optimizer's state of another size");
  std::vector<at::Tensor> parts;
  for (const at::Tensor& of_kind : moments) {
    for (const MemoryRange& place : places_) {
      parts.push_back(of_kind.narrow(0, static_cast<std::int64_t>(place.begin),
                                     static_cast<std::int64_t>(place.end - place.begin)));
    }
  }
  at::from_blob(state.data(), {static_cast<std::int64_t>(state.size())}, at::kFloat).copy_(at::cat(parts));
}

void DeviceOptimizer::read_state(std::span<const float> state, std::int64_t steps_done) {
  require(state.size() == state_size(), "an optimizer's state of another size");
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    for (Item& item : items_) {
      auto* const values = const_cast<float*>(state.data() + kind * elements_ + item.position);  // only read
      item.moments[kind].copy_(at::from_blob(values, item.value.sizes(), at::kFloat));
    }
  }
  steps_.fill_(static_cast<double>(steps_done));
}

}  // namespace skyline::train
