#include "train/optimizer/optimizer.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ATen/ops/zeros.h>

namespace skyline::train {

Optimizer::Optimizer(const OptimizerOptions& options, ParameterStore& parameters)
    : Optimizer(options, parameters, {{0, parameters.memory().size()}}) {}

Optimizer::Optimizer(const OptimizerOptions& options, ParameterStore& parameters,
                     const std::vector<MemoryRange>& owned)
    : options_(options),
      kinds_(options.kind == OptimizerOptions::Kind::kAdam ? 2 : 1),
      all_(items_of(parameters)) {
  std::size_t held = 0;
  for (const Item& item : all_) {
    total_ += item.count;
    for (const MemoryRange& range : owned) {
      const std::size_t begin = std::max(item.offset, range.begin);
      const std::size_t end = std::min(item.offset + item.count, range.end);
      if (begin < end) {
        owned_.push_back({item.tensor, begin, item.position + (begin - item.offset), end - begin,
                          item.value + (begin - item.offset)});
        held += end - begin;
      }
    }
  }
  state_ = at::zeros({static_cast<std::int64_t>(kinds_ * held)}, at::kFloat);
  float* next = state_.mutable_data_ptr<float>();
  for (Item& item : owned_) {
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      item.moments[kind] = next + kind * held;
    }
    next += item.count;
  }
}

std::vector<Optimizer::Item> Optimizer::items_of(ParameterStore& parameters) {
  std::vector<Item> items;
  std::size_t position = 0;
  for (StoredLayer& layer : parameters.layers()) {
    for (StoredTensor& tensor : layer.tensors()) {
      if (tensor.trainable) {
        const auto count = static_cast<std::size_t>(tensor.value.numel());
        items.push_back(
            {&tensor, parameters.offset_of(tensor), position, count, tensor.value.mutable_data_ptr<float>()});
        position += count;
      }
    }
  }
  return items;
}

const float* Optimizer::gradient_of(const Item& item) {
  at::Tensor& gradient = item.tensor->gradient;
  if (!gradient.defined()) {
    return nullptr;
  }
  order_like_parameter(gradient);
  require(static_cast<std::size_t>(gradient.numel()) == item.count,
          "a gradient has another size than its parameter");
  return gradient.const_data_ptr<float>();
}

void Optimizer::step() {
  begin_step();
  for (const Item& item : owned_) {
    if (const float* gradient = gradient_of(item)) {
      update(item, gradient);
    }
  }
}

void Optimizer::begin_step() {
  ++steps_;
  if (options_.kind == OptimizerOptions::Kind::kSgd) {
    sgd_ = {.learning_rate = static_cast<float>(options_.learning_rate),
            .momentum = static_cast<float>(options_.momentum),
            .weight_decay = static_cast<float>(options_.weight_decay),
            .nesterov = options_.nesterov};
    return;
  }
  const auto count = static_cast<double>(steps_);
  adam_ = {.beta1 = static_cast<float>(options_.beta1),
           .beta2 = static_cast<float>(options_.beta2),
           .epsilon = static_cast<float>(options_.epsilon),
           .weight_decay = static_cast<float>(options_.weight_decay),
           .step_size = static_cast<float>(options_.learning_rate / (1 - std::pow(options_.beta1, count))),
           .inverse_root_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(options_.beta2, count)))};
}

void Optimizer::update(MemoryRange range, const float* gradients) {
  for (const Item& item : owned_) {
    const bool inside = item.offset >= range.begin && item.offset + item.count <= range.end;
    if (inside && item.tensor->gradient.defined()) {
      update(item, gradients + (item.offset - range.begin));
    }
  }
}

void Optimizer::update(const Item& item, const float* gradient) {
  if (options_.kind == OptimizerOptions::Kind::kAdam) {
    kernels::adam(adam_, item.count, gradient, item.value, item.moments[0], item.moments[1]);
  } else {
    kernels::sgd(sgd_, item.count, gradient, item.value, item.moments[0]);
  }
}

void Optimizer::write_state(std::span<float> state) const {
  for (const Item& item : owned_) {
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      std::copy_n(item.moments[kind], item.count, state.data() + kind * total_ + item.position);
    }
  }
}

void Optimizer::read_state(std::span<const float> state) {
  for (const Item& item : owned_) {
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      std::copy_n(state.data() + kind * total_ + item.position, item.count, item.moments[kind]);
    }
  }
}

void Optimizer::write_moments(std::size_t kind, MemoryRange range, float* values) const {
  for (const Item& item : owned_) {
    if (item.offset >= range.begin && item.offset < range.end) {
      std::copy_n(item.moments[kind], item.count, values + (item.offset - range.begin));
    }
  }
}

void Optimizer::place_moments(std::size_t kind, MemoryRange range, const float* values,
                              std::span<float> state) const {
  for (const Item& item : all_) {
    if (item.offset >= range.begin && item.offset < range.end) {
      std::copy_n(values + (item.offset - range.begin), item.count,
                  state.data() + kind * total_ + item.position);
    }
  }
}

LearningRate::LearningRate(const TrainingOptions& options, std::int64_t steps_per_epoch,
                           std::int64_t total_steps)
    : base_(options.optimizer.learning_rate),
      decay_(options.schedule.decay),
      warmup_steps_(std::llround(options.schedule.warmup * static_cast<double>(steps_per_epoch))),
      decay_steps_(std::max<std::int64_t>(1, total_steps - warmup_steps_)) {}

double LearningRate::at(std::int64_t step) const {
  if (step < warmup_steps_) {
    return base_ * (static_cast<double>(step + 1) / static_cast<double>(warmup_steps_));
  }
  const double done = static_cast<double>(step - warmup_steps_) / static_cast<double>(decay_steps_);
  switch (decay_) {
    case ScheduleOptions::Decay::kNone:
      return base_;
    case ScheduleOptions::Decay::kLinear:
      return base_ * std::max(0.0, 1 - done);
    case ScheduleOptions::Decay::kCosine:
      return base_ * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, done)));
  }
  return base_;
}

}  // namespace skyline::train
