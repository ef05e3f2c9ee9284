#include "train/parameters/optimizer.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {

at::Tensor square_sum(const std::vector<at::Tensor>& values) {
  return at::stack(at::_foreach_norm(values, 2)).square().sum();
}

void clip(const std::vector<at::Tensor>& gradients, const at::Tensor& squares, double most) {
  constexpr double kSmall = 1e-6;  // PyTorch's constant
  const at::Tensor factor = squares.sqrt().add(kSmall).reciprocal().mul(most).clamp_max(1.0);
  at::_foreach_mul_(gradients, factor);
}

Optimizer::Optimizer(const OptimizerOptions& options, ParameterStore& parameters, Kernels kernels,
                     const std::vector<MemoryRange>& owned)
    : options_(options),
      kernels_(kernels),
      state_(options, parameters, owned),
      steps_(at::zeros({}, parameters.block().options())) {}

void Optimizer::step(const at::Tensor& rate) {
  begin_step(rate);
  for (const Piece& piece : state_.pieces()) gradients_.push_back(take_gradient(piece));
  if (options_.clip_norm > 0) {
    std::vector<at::Tensor> defined;
    std::ranges::copy_if(gradients_, std::back_inserter(defined),
                         [](const at::Tensor& gradient) { return gradient.defined(); });
    if (!defined.empty()) clip(defined, square_sum(defined), options_.clip_norm);
  }
  update(0, gradients_);
  gradients_.clear();  // otherwise they would exist beside those of the next step
}

at::Tensor Optimizer::take_gradient(const Piece& piece) const {
  at::Tensor gradient = std::exchange(piece.tensor->gradient, {});
  if (!gradient.defined()) return gradient;
  require(static_cast<std::size_t>(gradient.numel()) == size_of(piece.place),
          "a gradient has another size than its parameter");
  if (kernels_ == Kernels::kAten) return in_memory_order(gradient, piece.tensor->value);
  order_like_parameter(gradient);
  return gradient;
}

void Optimizer::begin_step(const at::Tensor& rate) {
  if (kernels_ == Kernels::kOwn) {
    ++host_steps_;
    set_constants(*rate.const_data_ptr<double>());
  } else {
    steps_.add_(1);
    rate_ = rate;
  }
}

void Optimizer::set_constants(double rate) {
  if (options_.kind == OptimizerOptions::Kind::kSgd) {
    sgd_ = {.learning_rate = static_cast<float>(rate),
            .momentum = static_cast<float>(options_.momentum),
            .weight_decay = static_cast<float>(options_.weight_decay),
            .nesterov = options_.nesterov};
    return;
  }
  const auto count = static_cast<double>(host_steps_);
  const bool decoupled = options_.kind == OptimizerOptions::Kind::kAdamW;
  adam_ = {.beta1 = static_cast<float>(options_.beta1),
           .beta2 = static_cast<float>(options_.beta2),
           .epsilon = static_cast<float>(options_.epsilon),
           .weight_decay = decoupled ? 0.0F : static_cast<float>(options_.weight_decay),
           .kept = decoupled ? static_cast<float>(1 - rate * options_.decoupled_decay) : 1.0F,
           .step_size = static_cast<float>(rate / (1 - std::pow(options_.beta1, count))),
           .inverse_root_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(options_.beta2, count)))};
}

void Optimizer::update(std::size_t first, std::span<const at::Tensor> gradients) {
  if (kernels_ == Kernels::kAten) {
    update_on_device(first, gradients, true);
    update_on_device(first, gradients, false);
    return;
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) update_on_host(state_.pieces()[first + i], gradients[i]);
  }
}

void Optimizer::update_on_host(const Piece& piece, const at::Tensor& gradient) {
  const auto memory = [](const at::Tensor& values) { return values.mutable_data_ptr<float>(); };
  const auto* slope = gradient.const_data_ptr<float>();
  if (options_.is_adam()) {
    kernels::AdamStep adam = adam_;
    if (!piece.decays) {
      adam.weight_decay = 0;
      adam.kept = 1;
    }
    kernels::adam(adam, size_of(piece.place), slope, memory(piece.value), memory(piece.moments[0]),
                  memory(piece.moments[1]));
  } else {
    kernels::SgdStep sgd = sgd_;
    if (!piece.decays) sgd.weight_decay = 0;
    kernels::sgd(sgd, size_of(piece.place), slope, memory(piece.value), memory(piece.moments[0]));
  }
}

void Optimizer::update_on_device(std::size_t first, std::span<const at::Tensor> gradients, bool decays) {
  std::vector<at::Tensor> values;
  std::vector<at::Tensor> used;
  std::vector<at::Tensor> first_moments;
  std::vector<at::Tensor> second_moments;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Piece& piece = state_.pieces()[first + i];
    if (gradients[i].defined() && piece.decays == decays) {
      values.push_back(piece.value);
      used.push_back(gradients[i]);
      first_moments.push_back(piece.moments[0]);
      second_moments.push_back(piece.moments[1]);
    }
  }
  if (values.empty()) return;
  const double l2 = decays ? options_.weight_decay : 0;
  const std::vector<at::Tensor> steps(values.size(), steps_);
  if (options_.kind == OptimizerOptions::Kind::kAdam) {
    at::_fused_adam_(values, used, first_moments, second_moments, {}, steps, rate_, options_.beta1,
                     options_.beta2, l2, options_.epsilon, false, false);
  } else if (options_.kind == OptimizerOptions::Kind::kAdamW) {
    at::_fused_adamw_(values, used, first_moments, second_moments, {}, steps, rate_, options_.beta1,
                      options_.beta2, decays ? options_.decoupled_decay : 0, options_.epsilon, false, false);
  } else {
    // Velocities start at zero, so the first step needs no special case.
    const at::TensorList velocities =
        options_.momentum > 0 ? at::TensorList(first_moments) : at::TensorList();
    at::_fused_sgd_(values, used, velocities, l2, options_.momentum, rate_, 0, options_.nesterov, false,
                    false);
  }
}

void Optimizer::read_state(std::span<const float> state, std::int64_t steps_done) {
  state_.read(state);
  steps_.fill_(static_cast<double>(steps_done));
  host_steps_ = steps_done;
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
