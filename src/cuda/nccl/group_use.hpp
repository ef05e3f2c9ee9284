#pragma once

#include <atomic>

namespace skyline::cuda {

/// Exists while a member of a group uses a device of the process. Then nobody gives memory back to a device:
/// CUDA waits there for all work that the device has been given, NCCL's operations for other processes, and
/// those perhaps for one that does the same.
class GroupUse {
 public:
  GroupUse() { ++uses_; }
  ~GroupUse() { --uses_; }
  GroupUse(const GroupUse&) = delete;
  GroupUse& operator=(const GroupUse&) = delete;

  static bool any() { return uses_ > 0; }

 private:
  static inline std::atomic<int> uses_ = 0;
};

}  // namespace skyline::cuda
