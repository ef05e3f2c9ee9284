#pragma once

#include "train/course/training_evaluator.hpp"
#include "train/graph/parameter_store.hpp"
#include "train/optimizer/optimizer_state.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Adam, AdamW or SGD on a device: ATen's fused updates, with all changing values in tensors there, so that a
/// step can be recorded. An optimizer that owns a part of the parameters holds and updates that part only.
/// Used by one thread, with its stream current.
class DeviceOptimizer {
 public:
  /// Makes an optimizer that owns everything. `parameters`, on their device, outlive it.
  DeviceOptimizer(const OptimizerOptions& options, ParameterStore& parameters);
  /// @param owned  disjoint ranges of the store's memory
  DeviceOptimizer(const OptimizerOptions& options, ParameterStore& parameters,
                  const std::vector<MemoryRange>& owned);

  /// Updates every parameter by the gradient that backward has left, and drops the gradients; a parameter
  /// without a gradient is left alone.
  /// @param rate  float32 [], on the device: the learning rate of this step
  void step(const at::Tensor& rate);
  /// Updates the owned pieces by these gradients: [elements] each; one that is undefined is left alone.
  void update(const at::Tensor& rate, const std::vector<at::Tensor>& gradients);

  const OptimizerState& state() const { return state_; }
  void read_state(std::span<const float> state, std::int64_t steps_done);

 private:
  /// Of the pieces that weight decay takes, or of the others.
  void update(const at::Tensor& rate, const std::vector<at::Tensor>& gradients, bool decays);

  OptimizerOptions options_;
  OptimizerState state_;
  std::vector<at::Tensor> fixed_gradients_;  // that ops have set before the first pass; else undefined
  at::Tensor steps_;                         // float32 []: steps done
};

}  // namespace skyline::train
