#pragma once

#include "skyline/trial/trial_group.hpp"

#include "train/course/training_evaluator.hpp"
#include "train/graph/parameter_store.hpp"
#include "train/kernels/optimizer_kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// A range of a store's memory, in floats.
using MemoryRange = trial::Part;

/// Adam or SGD with momentum, with PyTorch's formulas, over the parameters of a store that outlives it.
///
/// Its state is one array: the first moments (or velocities) of all parameters in the order of the store,
/// without padding, then Adam's second moments in the same order. An optimizer that owns a part of the
/// parameters holds and updates that part only.
class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, ParameterStore& parameters);
  /// @param owned  ascending disjoint ranges of the store's memory
  Optimizer(const OptimizerOptions& options, ParameterStore& parameters,
            const std::vector<MemoryRange>& owned);

  /// Updates every parameter by its gradient.
  void step();
  /// Updates in pieces: begin_step, then update for every range once. A parameter whose gradient no op has
  /// set is left alone. @param gradients  of the memory in `range`
  void begin_step();
  void update(MemoryRange range, const float* gradients);

  /// Floats of the whole state, not only of the owned part.
  std::size_t state_size() const { return kinds_ * total_; }
  /// Numbers per parameter in the state.
  std::size_t moment_kinds() const { return kinds_; }
  /// Copies the owned numbers into, or out of, the whole state.
  void write_state(std::span<float> state) const;
  void read_state(std::span<const float> state);
  /// Writes the owned numbers of one kind, in the order of the memory in `range`.
  void write_moments(std::size_t kind, MemoryRange range, float* values) const;
  /// Copies numbers of one kind, in the order of the memory in `range`, into the whole state.
  void place_moments(std::size_t kind, MemoryRange range, const float* values, std::span<float> state) const;

  /// Sets the learning rate of the next steps.
  void set_learning_rate(double rate) { options_.learning_rate = rate; }
  std::int64_t steps_done() const { return steps_; }
  void set_steps_done(std::int64_t steps) { steps_ = steps; }

 private:
  /// A parameter, or the owned piece of it.
  struct Item {
    StoredTensor* tensor;
    std::size_t offset;    // offset in the store's memory
    std::size_t position;  // position among the state's numbers of a kind
    std::size_t count;
    float* value;
    float* moments[2] = {};  // owned items
  };
  static std::vector<Item> items_of(ParameterStore& parameters);
  /// The gradient of an item; nullptr if no op has set one.
  static const float* gradient_of(const Item& item);
  void update(const Item& item, const float* gradient);

  OptimizerOptions options_;
  kernels::AdamStep adam_{};  // of the current step
  kernels::SgdStep sgd_{};
  std::size_t kinds_;
  std::vector<Item> all_;    // whole parameters
  std::vector<Item> owned_;  // in the order of memory
  std::size_t total_ = 0;    // elements of all parameters
  at::Tensor state_;         // of the owned items
  std::int64_t steps_ = 0;
};

/// The learning rate of each step of a trial, by its schedule: a function of the step's number alone, so that
/// a resumed trial continues with the same rates.
class LearningRate {
 public:
  /// @param total_steps  of the trial's budget
  LearningRate(const TrainingOptions& options, std::int64_t steps_per_epoch, std::int64_t total_steps);
  /// @param step  from 0
  double at(std::int64_t step) const;

 private:
  double base_;
  ScheduleOptions::Decay decay_;
  std::int64_t warmup_steps_;
  std::int64_t decay_steps_;
};

}  // namespace skyline::train
