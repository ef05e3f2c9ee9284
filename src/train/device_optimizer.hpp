#pragma once

#include "skyline/train/accelerator.hpp"
#include "skyline/train/training_evaluator.hpp"

#include "train/parameter_store.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Adam or SGD on a device: ATen's fused updates, with all that changes from step to step in tensors there,
/// so that a step can be recorded. Used by one thread, with its stream current.
class DeviceOptimizer {
 public:
  /// `parameters`, on their device, outlive it.
  DeviceOptimizer(const OptimizerOptions& options, ParameterStore& parameters);

  /// Lets go of the gradients, so that backward makes new ones.
  void clear_gradients();
  /// Updates every parameter by the gradient that backward has left; one without a gradient is left alone.
  /// @param rate  float32 [], on the device: the learning rate of this step
  void step(const at::Tensor& rate) { update(rate, gradients()); }
  /// The same in pieces, for gradients that are changed in between: one for each parameter, in the order of
  /// the store, [elements] in the order of its memory; undefined if backward has left none.
  std::vector<at::Tensor> gradients() const;
  void update(const at::Tensor& rate, const std::vector<at::Tensor>& gradients);

  /// The state as the CPU's optimizer writes it: first moments (or velocities) of all parameters, one after
  /// the other, then Adam's second moments.
  std::size_t state_size() const { return kinds_ * elements_; }
  void write_state(std::span<float> state) const;
  void read_state(std::span<const float> state, std::int64_t steps_done);

 private:
  /// A parameter, with its moments as they stand in memory: [elements].
  struct Item {
    at::Tensor parameter;
    at::Tensor value;
    at::Tensor moments[2];
    at::Tensor fixed_gradient;  // of one that backward leaves out; undefined else
  };
  static at::Tensor gradient_of(const Item& item);

  OptimizerOptions options_;
  std::size_t kinds_;
  std::size_t elements_ = 0;  // of all parameters
  at::Tensor moments_;        // [kinds, size of the parameters' block], at the parameters' places
  at::Tensor steps_;          // float32 []: how many were done
  std::vector<Item> items_;
};

}  // namespace skyline::train
