#pragma once

#include <cstdint>

namespace skyline::train {

/// When work is recorded; a recording costs as much as about ten steps.
struct RecordingPolicy {
  std::int64_t runs_before = 3;           // unrecorded runs first: they make handles and choose algorithms
  std::int64_t least_steps = 200;         // a shorter trial is not recorded
  std::int64_t burst = 4;                 // steps per replay
  std::int64_t least_burst_steps = 1000;  // a shorter trial has no bursts
  double most_burst_flops = 2e9;    // FLOPs per step; larger steps gain less than a second recording costs
  std::int64_t least_batches = 16;  // fewer validation batches are not recorded
};

}  // namespace skyline::train
