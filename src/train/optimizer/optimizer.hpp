#pragma once

#include "train/course/training_evaluator.hpp"
#include "train/graph/parameter_store.hpp"
#include "train/kernels/optimizer_kernels.hpp"
#include "train/optimizer/optimizer_state.hpp"

#include <cstdint>
#include <vector>

namespace skyline::train {

/// Adam, AdamW or SGD with momentum on the CPU, with PyTorch's formulas, over the parameters of a store that
/// outlives it. One that owns a part of the parameters updates that part only.
class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, ParameterStore& parameters);
  /// @param owned  disjoint ranges of the store's memory
  Optimizer(const OptimizerOptions& options, ParameterStore& parameters,
            const std::vector<MemoryRange>& owned);

  /// Updates every parameter by its gradient.
  void step();
  /// Updates in pieces: begin_step, then update for every range once. A parameter whose gradient no op has
  /// set is left alone. @param gradients  of the memory in `range`
  void begin_step();
  void update(MemoryRange range, const float* gradients);

  OptimizerState& state() { return state_; }
  const OptimizerState& state() const { return state_; }

  /// Sets the learning rate of the next steps.
  void set_learning_rate(double rate) { options_.learning_rate = rate; }
  std::int64_t steps_done() const { return steps_; }
  void set_steps_done(std::int64_t steps) { steps_ = steps; }

 private:
  using Piece = OptimizerState::Piece;
  /// The gradient of a piece; nullptr if no op has set one.
  static const float* gradient_of(const Piece& piece);
  void update(const Piece& piece, const float* gradient);

  OptimizerOptions options_;
  OptimizerState state_;
  kernels::AdamStep adam_{};  // of the current step
  kernels::SgdStep sgd_{};
  std::int64_t steps_ = 0;
};

/// The learning rate of each step of a trial, by its schedule: a function of the step's number alone, so that
/// a resumed trial continues with the same rates.
class LearningRate {
 public:
  /// @param total_steps  of the trial's horizon
  LearningRate(const TrainingOptions& options, std::int64_t steps_per_epoch, std::int64_t total_steps);
  /// @param step  from 0
  double at(std::int64_t step) const;

 private:
  double base_;
  ScheduleOptions schedule_;
  std::int64_t warmup_steps_;
  std::int64_t decay_steps_;
  std::int64_t constant_steps_;  // Decay::kStep: from one fall to the next
};

}  // namespace skyline::train
