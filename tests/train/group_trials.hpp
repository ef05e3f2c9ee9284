#pragma once

#include "train/evaluator/training_evaluator.hpp"
#include "train/group_fixtures.hpp"
#include "train/train_fixtures.hpp"

#include <cstddef>
#include <memory>

/// Trials that groups train, and how.
namespace skyline::train::test {

using Statistics = GroupOptions::Statistics;
using Sharding = GroupOptions::Sharding;

enum Metric : std::size_t { kAccuracy, kValidationLoss, kTrainLoss, kLatency, kTestAccuracy, kSteps };

// 202 samples in batches of 8: 26 steps an epoch, the last one with 2 samples, so that of four members two
// have none.
inline constexpr std::size_t kGroupSamples = 202;
inline constexpr std::size_t kHeldOut = 90;
inline constexpr int kEpochSteps = 26;

inline TrainingOptions sgd(Statistics statistics, Sharding sharding = Sharding::kNone) {
  TrainingOptions options;
  options.batch = 8;
  options.optimizer.kind = OptimizerOptions::Kind::kSgd;
  options.optimizer.learning_rate = 0.02;
  options.optimizer.weight_decay = 1e-3;
  options.latency = {1, 2, 3};
  options.group.statistics = statistics;
  options.group.sharding = sharding;
  return options;
}

inline TrainingOptions adam(Statistics statistics, Sharding sharding = Sharding::kNone) {
  TrainingOptions options = sgd(statistics, sharding);
  options.optimizer = {};
  options.optimizer.learning_rate = 0.005;
  options.optimizer.weight_decay = 1e-3;
  return options;
}

inline std::unique_ptr<trial::Evaluator> make_evaluator(const TrainingOptions& options,
                                                        bool latency = false) {
  return make_training_evaluator(options, Normalization::kStandard, bars(),
                                 split_in_two(kGroupSamples, kHeldOut), latency);
}

inline trial::Trial every_layer_trial(double epochs) {
  return make_trial(every_layer(), epochs, 5);
}

}  // namespace skyline::train::test
