#pragma once

#include "train/course/training_options.hpp"
#include "train/device/accelerator.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// A member's view of its group for training.
struct GroupMembership {
  DeviceReducer* reducer = nullptr;  // nullptr: no group
  std::size_t members = 1;
  std::size_t member = 0;
  GroupOptions options = {};
  bool is_sharded() const { return options.sharding != GroupOptions::Sharding::kNone; }
};

/// What the ops of a network share. The ops keep a reference to it.
struct DevicePlace {
  Accelerator* accelerator = nullptr;
  bool bfloat16 = false;  // of products; parameters, their gradients and sums stay float32
  const GroupMembership* synchronized = nullptr;  // whose statistics of batches count; nullptr: one's own
  std::vector<std::string> drawing_layers = {};   // filled by the graph

  // Of the current step.
  at::Tensor seeds = {};          // int64 [drawing_layers], on the device
  std::int64_t first_sample = 0;  // place in the batch of the member's first sample
  std::int64_t batch = 0;         // samples of all members

  bool has_own_kernels() const { return accelerator->kernels() == Kernels::kOwn; }
  /// A tensor in the type of products.
  at::Tensor for_products(const at::Tensor& tensor) const {
    return bfloat16 ? tensor.to(at::kBFloat16) : tensor;
  }
};

}  // namespace skyline::train
