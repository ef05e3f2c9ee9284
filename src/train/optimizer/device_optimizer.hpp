#pragma once

#include "train/course/training_evaluator.hpp"
#include "train/device/accelerator.hpp"
#include "train/graph/parameter_store.hpp"
#include "train/optimizer/optimizer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Adam or SGD on a device: ATen's fused updates, with all changing values in tensors there, so that a step
/// can be recorded. An optimizer that owns a part of the parameters holds and updates that part only. Used by
/// one thread, with its stream current.
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
  /// The ranges of the owned pieces of parameters in the store's memory.
  std::vector<MemoryRange> pieces() const;
  /// Updates the pieces by these gradients: [elements] each; one that is undefined is left alone.
  void update(const at::Tensor& rate, const std::vector<at::Tensor>& gradients);

  /// The whole state as the CPU's optimizer writes it: first moments (or velocities) of all parameters, one
  /// after the other, then Adam's second moments. Only one that owns everything can write it.
  std::size_t state_size() const { return kinds_ * elements_; }
  void write_state(std::span<float> state) const;
  void read_state(std::span<const float> state, std::int64_t steps_done);
  /// Numbers per parameter in the state.
  std::size_t moment_kinds() const { return kinds_; }
  /// The numbers of one kind for an owned range, in the order of its memory.
  at::Tensor moments(std::size_t kind, std::size_t range) const;
  /// Writes the whole state. @param moments  one tensor per kind, in the order of all memory
  void write_state(const std::vector<at::Tensor>& moments, std::span<float> state) const;

 private:
  /// An owned piece of a parameter, with its moments in memory order: [elements].
  struct Item {
    StoredTensor* parameter;  // the whole parameter
    MemoryRange place;
    std::size_t position;  // position among the state's numbers of a kind
    at::Tensor value;
    at::Tensor moments[2];
    at::Tensor fixed_gradient;  // that an op has set before the first pass; else undefined
  };
  void own(ParameterStore& parameters, const MemoryRange& range);
  static at::Tensor gradient_of(const Item& item);

  OptimizerOptions options_;
  std::size_t kinds_;
  std::size_t elements_ = 0;               // of all parameters
  std::vector<MemoryRange> places_;        // of all parameters
  std::vector<StoredTensor*> parameters_;  // all parameters
  std::vector<at::Tensor> moments_;        // of each owned range: [kinds, size]
  at::Tensor steps_;                       // float32 []: steps done
  std::vector<Item> items_;
};

}  // namespace skyline::train
