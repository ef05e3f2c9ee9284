#include "train/optimizer/optimizer.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace skyline::train {

Optimizer::Optimizer(const OptimizerOptions& options, ParameterStore& parameters)
    : Optimizer(options, parameters, {{0, parameters.memory().size()}}) {}

Optimizer::Optimizer(const OptimizerOptions& options, ParameterStore& parameters,
                     const std::vector<MemoryRange>& owned)
    : options_(options), state_(options, parameters, owned) {}

const float* Optimizer::gradient_of(const Piece& piece) {
  at::Tensor& gradient = piece.tensor->gradient;
  if (!gradient.defined()) {
    return nullptr;
  }
  order_like_parameter(gradient);
  require(static_cast<std::size_t>(gradient.numel()) == size_of(piece.place),
          "a gradient has another size than its parameter");
  return gradient.const_data_ptr<float>();
}

void Optimizer::step() {
  begin_step();
  for (const Piece& piece : state_.pieces()) {
    if (const float* gradient = gradient_of(piece)) {
      update(piece, gradient);
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
  for (const Piece& piece : state_.pieces()) {
    const bool inside = piece.place.begin >= range.begin && piece.place.end <= range.end;
    if (inside && piece.tensor->gradient.defined()) {
      update(piece, gradients + (piece.place.begin - range.begin));
    }
  }
}

void Optimizer::update(const Piece& piece, const float* gradient) {
  const auto memory = [](const at::Tensor& values) { return values.mutable_data_ptr<float>(); };
  if (options_.kind == OptimizerOptions::Kind::kAdam) {
    kernels::adam(adam_, size_of(piece.place), gradient, memory(piece.value), memory(piece.moments[0]),
                  memory(piece.moments[1]));
  } else {
    kernels::sgd(sgd_, size_of(piece.place), gradient, memory(piece.value), memory(piece.moments[0]));
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
