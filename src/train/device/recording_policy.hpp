#pragma once

#include <cstdint>

namespace skyline::train {

/// When work is recorded: to record costs about ten steps.
struct RecordingPolicy {
  std::int64_t runs_before = 3;           // as they are: handles exist then, and algorithms are chosen
  std::int64_t least_steps = 200;         // of the trial, for steps to be recorded at all
  std::int64_t burst = 4;                 // steps that are one replay
  std::int64_t least_burst_steps = 1000;  // of the trial, for bursts
  double most_burst_flops = 2e9;    // of a step: what a larger one gains is not worth a second recording
  std::int64_t least_batches = 16;  // of the validation samples, for their pass to be recorded
};

}  // namespace skyline::train
