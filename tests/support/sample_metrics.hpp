#pragma once

#include "skyline/trial/metric.hpp"

namespace skyline::testing {

/// Metrics as evaluators describe them.
inline trial::Metric validation_accuracy() {
  return {.name = "validation_accuracy",
          .range = {0, 1},
          .of = trial::Metric::Of::kValidation,
          .has_course = true};
}

inline trial::Metric test_accuracy() {
  return {.name = "test_accuracy",
          .range = {0, 1},
          .when = trial::Metric::When::kFullTraining,
          .of = trial::Metric::Of::kTest,
          .repeats = "validation_accuracy"};
}

inline trial::Metric validation_mse() {
  return {.name = "validation_mse",
          .better = trial::Better::kLower,
          .range = {.low = 0},
          .of = trial::Metric::Of::kValidation};
}

inline trial::Metric latency_ms() {
  return {.name = "latency_ms", .better = trial::Better::kLower, .range = {.low = 0}, .unit = "ms"};
}

}  // namespace skyline::testing
