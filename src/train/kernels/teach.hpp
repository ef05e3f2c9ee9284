#pragma once

#include "skyline/core/random_engine.hpp"

#include <cmath>
#include <cstdint>

namespace skyline::train::kernels {

/// How the outputs of a teacher become targets: shares of exclusive classes, shares of each output by itself,
/// or the outputs as they are.
enum class Softening : std::uint8_t { kClasses, kLabels, kNone };

/// A teacher's targets for the samples of a batch.
struct TeachPlan {
  const float* outputs = nullptr;  // [samples, outputs]; nullptr without a teacher
  Softening softening = Softening::kNone;
  float temperature = 1;     // divides the outputs before they are softened
  float* targets = nullptr;  // out: [rows, outputs]
};

/// Adds `share` times the targets of a sample to a row.
/// @param row  [size]
SKYLINE_DEVICE_CODE inline void add_taught(const TeachPlan& plan, std::int64_t sample, std::int32_t size,
                                           float share, float* row) {
  const float* const said = plan.outputs + sample * size;
  float largest = said[0];
  float sum = 0;
  if (plan.softening == Softening::kClasses) {
    for (std::int32_t i = 1; i < size; ++i) largest = said[i] > largest ? said[i] : largest;
    for (std::int32_t i = 0; i < size; ++i) sum += std::exp((said[i] - largest) / plan.temperature);
  }
  for (std::int32_t i = 0; i < size; ++i) {
    float target = said[i];
    if (plan.softening == Softening::kClasses) {
      target = std::exp((target - largest) / plan.temperature) / sum;
    } else if (plan.softening == Softening::kLabels) {
      target = 1 / (1 + std::exp(-target / plan.temperature));
    }
    row[i] += share * target;
  }
}

}  // namespace skyline::train::kernels
