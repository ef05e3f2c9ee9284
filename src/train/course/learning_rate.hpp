#pragma once

#include "train/course/training_evaluator.hpp"

#include <cstdint>

namespace skyline::train {

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
