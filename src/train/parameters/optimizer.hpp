#pragma once

#include "train/kernels/optimizer_kernels.hpp"
#include "train/kernels/values.hpp"
#include "train/options/training_options.hpp"
#include "train/parameters/optimizer_state.hpp"
#include "train/parameters/parameter_store.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Returns the sum of the squares of all values, float32 [], on their device.
at::Tensor square_sum(const std::vector<at::Tensor>& values);

/// Scales the gradients in place so that their common norm is at most `most`, with PyTorch's formula.
/// @param squares  float32 []: the square of the norm, which may include more gradients
/// @see torch.nn.utils.clip_grad_norm_
void clip(const std::vector<at::Tensor>& gradients, const at::Tensor& squares, double most);

/// Adam, AdamW or SGD with momentum, with PyTorch's formulas, on the parameters' device: with our own kernels
/// or with ATen's fused updates. All changing values are in tensors there, so that a step can be recorded. An
/// optimizer that owns a part of the parameters holds and updates only that part. One thread uses it, with
/// its stream current.
class Optimizer {
 public:
  using Piece = OptimizerState::Piece;

  /// @param parameters  on their device; must outlive the optimizer
  /// @param owned       disjoint ranges of the store's memory
  Optimizer(const OptimizerOptions& options, ParameterStore& parameters, Kernels kernels,
            const std::vector<MemoryRange>& owned);

  /// Updates every parameter with the gradient of the last backward pass, and drops the gradients.
  /// @param rate  [], on the device: the learning rate of this step; float64 for kernels of our own, else
  ///              float32
  void step(const at::Tensor& rate);
  /// Updates in parts: call begin_step, then update once for every owned piece.
  void begin_step(const at::Tensor& rate);
  /// Updates the pieces from number `first` on with these gradients, dense in the order of memory. A piece
  /// with an undefined gradient is not changed.
  void update(std::size_t first, std::span<const at::Tensor> gradients);

  const OptimizerState& state() const { return state_; }
  /// See OptimizerOptions. For callers that update in parts; step() clips by itself.
  double clip_norm() const { return options_.clip_norm; }
  void read_state(std::span<const float> state, std::int64_t steps_done);

 private:
  at::Tensor take_gradient(const Piece& piece) const;
  void set_constants(double rate);
  void update_on_host(const Piece& piece, const at::Tensor& gradient);
  /// Updates the pieces with weight decay, or those without.
  void update_on_device(std::size_t first, std::span<const at::Tensor> gradients, bool decays);

  OptimizerOptions options_;
  Kernels kernels_;
  OptimizerState state_;
  at::Tensor steps_;                   // float32 []: number of steps done
  at::Tensor rate_;                    // learning rate of the current step
  std::vector<at::Tensor> gradients_;  // gradients of step()
  std::int64_t host_steps_ = 0;        // number of steps done, for kernels of our own
  kernels::AdamStep adam_{};           // factors of the current step
  kernels::SgdStep sgd_{};
};

/// The learning rate of each step of a trial by its schedule. It depends only on the step's number, so that a
/// resumed trial continues with the same rates.
class LearningRate {
 public:
  /// @param total_steps  steps of the trial's horizon
  LearningRate(const TrainingOptions& options, std::int64_t steps_per_epoch, std::int64_t total_steps);
  /// @param step  from 0
  double at(std::int64_t step) const;

 private:
  double base_;
  ScheduleOptions schedule_;
  std::int64_t warmup_steps_;
  std::int64_t decay_steps_;
  std::int64_t constant_steps_;  // Decay::kStep: steps between two falls
};

}  // namespace skyline::train
