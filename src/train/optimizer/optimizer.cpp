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
  const bool decoupled = options_.kind == OptimizerOptions::Kind::kAdamW;
  adam_ = {
      .beta1 = static_cast<float>(options_.beta1),
      .beta2 = static_cast<float>(options_.beta2),
      .epsilon = static_cast<float>(options_.epsilon),
      .weight_decay = decoupled ? 0.0F : static_cast<float>(options_.weight_decay),
      .kept = decoupled ? static_cast<float>(1 - options_.learning_rate * options_.decoupled_decay) : 1.0F,
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
  if (options_.is_adam()) {
    kernels::AdamStep adam = adam_;
    if (!piece.decays) {
      adam.weight_decay = 0;
      adam.kept = 1;
    }
    kernels::adam(adam, size_of(piece.place), gradient, memory(piece.value), memory(piece.moments[0]),
                  memory(piece.moments[1]));
  } else {
    kernels::SgdStep sgd = sgd_;
    if (!piece.decays) sgd.weight_decay = 0;
    kernels::sgd(sgd, size_of(piece.place), gradient, memory(piece.value), memory(piece.moments[0]));
  }
}

LearningRate::LearningRate(const TrainingOptions& options, std::int64_t steps_per_epoch,
                           std::int64_t total_steps)
    : base_(options.optimizer.learning_rate),
      schedule_(options.schedule),
      warmup_steps_(std::llround(options.schedule.warmup * static_cast<double>(steps_per_epoch))),
      decay_steps_(std::max<std::int64_t>(1, total_steps - warmup_steps_)),
      constant_steps_(std::max<std::int64_t>(
          1, std::llround(options.schedule.every * static_cast<double>(steps_per_epoch)))) {}

double LearningRate::at(std::int64_t step) const {
  if (step < warmup_steps_) {
    return base_ * (static_cast<double>(step + 1) / static_cast<double>(warmup_steps_));
  }
  const std::int64_t decayed = step - warmup_steps_;
  const double done = std::min(1.0, static_cast<double>(decayed) / static_cast<double>(decay_steps_));
  const auto above_floor = [this](double share) { return schedule_.floor + (1 - schedule_.floor) * share; };
  switch (schedule_.decay) {
    case ScheduleOptions::Decay::kNone:
      return base_;
    case ScheduleOptions::Decay::kLinear:
      return base_ * above_floor(1 - done);
    case ScheduleOptions::Decay::kCosine:
      return base_ * above_floor(0.5 * (1 + std::cos(std::numbers::pi * done)));
    case ScheduleOptions::Decay::kStep:
      return base_ * std::pow(schedule_.factor, static_cast<double>(decayed / constant_steps_));
  }
  return base_;
}

}  // namespace skyline::train
