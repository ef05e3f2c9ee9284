#pragma once

#include <atomic>

namespace skyline::cuda {

/// Exists while a member of a group uses a device of the process. Meanwhile no memory is given back to a
/// device: CUDA would wait there for all queued work, NCCL's operations wait for other processes, and those
/// may be waiting in the same way.
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
