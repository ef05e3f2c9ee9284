#pragma once

#include "skyline/train/training_evaluator.hpp"

#include "train/parameter_store.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace skyline::train {

/// Adam or SGD with momentum, with PyTorch's formulas, over the parameters of a store that outlives it.
class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, ParameterStore& parameters);
  /// Updates every parameter by its gradient.
  void step();

  /// Moments or velocities of all parameters.
  std::span<float> state();
  std::span<const float> state() const;
  std::int64_t steps_done() const { return steps_; }
  void set_steps_done(std::int64_t steps) { steps_ = steps; }

 private:
  void step_adam();
  void step_sgd();

  struct Item {
    StoredTensor* tensor;
    std::size_t count;
    float* first_moment;   // Adam; SGD: velocity
    float* second_moment;  // Adam
  };
  /// nullptr: no op has set one.
  static const float* gradient_of(const Item& item);

  OptimizerOptions options_;
  at::Tensor state_;
  std::vector<Item> items_;
  std::int64_t steps_ = 0;
};

}  // namespace skyline::train
