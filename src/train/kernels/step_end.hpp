#pragma once

#include "train/kernels/values.hpp"

#include <cstdint>

namespace skyline::train::kernels {

/// What the end of a step writes down on a device: its loss, and the rate and place of the next one.
struct StepEnd {
  const float* loss = nullptr;       // []
  float* losses = nullptr;           // [steps of the epoch]
  const float* rates = nullptr;      // [steps of the epoch]
  float* rate = nullptr;             // []
  std::int64_t* counters = nullptr;  // [2]: the step in the epoch, and the place of its batch
  std::int64_t steps = 0;
  std::int64_t batch = 0;
};

SKYLINE_DEVICE_CODE inline void end_step(const StepEnd& end) {
  const std::int64_t step = end.counters[0];
  end.losses[step] = *end.loss;
  end.counters[0] = step + 1;
  end.counters[1] += end.batch;
  if (step + 1 < end.steps) *end.rate = end.rates[step + 1];
}

}  // namespace skyline::train::kernels
