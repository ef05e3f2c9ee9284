#pragma once

#include "train/course/training_evaluator.hpp"
#include "train/device/accelerator.hpp"

#include <cstddef>

namespace skyline::train {

/// Pieces in which the gradients of a device are summed. The first one is small, so that it is sent soon
/// after backward begins; the others are so large that bandwidth matters and not their number.
struct BucketSizes {
  std::size_t first_bytes = std::size_t{1} << 20;
  std::size_t other_bytes = std::size_t{8} << 20;
};

/// A member's view of its group for training on a device.
struct DeviceMembership {
  DeviceReducer* reducer = nullptr;
  std::size_t members = 1;
  std::size_t member = 0;
  GroupOptions options;
  bool is_sharded() const { return options.sharding != GroupOptions::Sharding::kNone; }
};

}  // namespace skyline::train
