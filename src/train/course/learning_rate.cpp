#include "train/course/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace skyline::train {

LearningRate::LearningRate(const TrainingOptions& options, std::int64_t steps_per_epoch,
                           std::int64_t total_steps)
    : base_(options.optimizer.learning_rate),
      decay_(options.schedule.decay),
      warmup_steps_(std::llround(options.schedule.warmup * static_cast<double>(steps_per_epoch))),
      decay_steps_(std::max<std::int64_t>(1, total_steps - warmup_steps_)) {}

double LearningRate::at(std::int64_t step) const {
  if (step < warmup_steps_) {
    return base_ * (static_cast<double>(step + 1) / static_cast<double>(warmup_steps_));
  }
  const double done = static_cast<double>(step - warmup_steps_) / static_cast<double>(decay_steps_);
  switch (decay_) {
    case ScheduleOptions::Decay::kNone:
      return base_;
    case ScheduleOptions::Decay::kLinear:
      return base_ * std::max(0.0, 1 - done);
    case ScheduleOptions::Decay::kCosine:
      return base_ * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, done)));
  }
  return base_;
}

}  // namespace skyline::train
