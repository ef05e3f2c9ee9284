#include "train/optimizer/device_optimizer.hpp"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {

DeviceOptimizer::DeviceOptimizer(const OptimizerOptions& options, ParameterStore& parameters)
    : DeviceOptimizer(options, parameters, {{0, static_cast<std::size_t>(parameters.block().numel())}}) {}

DeviceOptimizer::DeviceOptimizer(const OptimizerOptions& options, ParameterStore& parameters,
                                 const std::vector<MemoryRange>& owned)
    : options_(options),
      state_(options, parameters, owned),
      steps_(at::zeros({}, parameters.block().options())) {
  for (const OptimizerState::Piece& piece : state_.pieces()) {
    fixed_gradients_.push_back(piece.tensor->gradient);
  }
}

void DeviceOptimizer::step(const at::Tensor& rate) {
  std::vector<at::Tensor> gradients;
  for (std::size_t i = 0; i < fixed_gradients_.size(); ++i) {
    at::Tensor& own = state_.pieces()[i].tensor->gradient;
    const at::Tensor& gradient = fixed_gradients_[i].defined() ? fixed_gradients_[i] : own;
    gradients.push_back(gradient.defined() ? in_memory_order(gradient) : at::Tensor());
    own.reset();
  }
  update(rate, gradients);
}

void DeviceOptimizer::update(const at::Tensor& rate, const std::vector<at::Tensor>& gradients) {
  steps_.add_(1);  // first, since the update needs the number of this step
  update(rate, gradients, true);
  update(rate, gradients, false);
}

void DeviceOptimizer::update(const at::Tensor& rate, const std::vector<at::Tensor>& gradients, bool decays) {
  std::vector<at::Tensor> values;
  std::vector<at::Tensor> used;
  std::vector<at::Tensor> first_moments;
  std::vector<at::Tensor> second_moments;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const OptimizerState::Piece& piece = state_.pieces()[i];
    if (gradients[i].defined() && piece.decays == decays) {
      values.push_back(piece.value);
      used.push_back(gradients[i]);
      first_moments.push_back(piece.moments[0]);
      second_moments.push_back(piece.moments[1]);
    }
  }
  if (values.empty()) {
    return;
  }
  const double l2 = decays ? options_.weight_decay : 0;
  const std::vector<at::Tensor> steps(values.size(), steps_);
  if (options_.kind == OptimizerOptions::Kind::kAdam) {
    at::_fused_adam_(values, used, first_moments, second_moments, {}, steps, rate, options_.beta1,
                     options_.beta2, l2, options_.epsilon, false, false);
  } else if (options_.kind == OptimizerOptions::Kind::kAdamW) {
    at::_fused_adamw_(values, used, first_moments, second_moments, {}, steps, rate, options_.beta1,
                      options_.beta2, decays ? options_.decoupled_decay : 0, options_.epsilon, false, false);
  } else {
    // Velocities start at zero, so the first step needs no special case.
    const at::TensorList velocities =
        options_.momentum > 0 ? at::TensorList(first_moments) : at::TensorList();
    at::_fused_sgd_(values, used, velocities, l2, options_.momentum, rate, 0, options_.nesterov, false,
                    false);
  }
}

void DeviceOptimizer::read_state(std::span<const float> state, std::int64_t steps_done) {
  state_.read(state);
  steps_.fill_(static_cast<double>(steps_done));
}

}  // namespace skyline::train
