#pragma once

#include "cuda/streams/check_cuda.hpp"

#include <cstddef>
#include <deque>
#include <vector>

#include <c10/core/Device.h>

namespace skyline::cuda {

/// A stream whose operations run beside those of other streams: forked from one before each operation, joined
/// into one later. Forks and joins become part of what these streams record. Its device is current in all
/// calls.
class StreamBranch {
 public:
  explicit StreamBranch(c10::DeviceIndex device);

  cudaStream_t stream() const { return stream_.get(); }
  /// Operations that are queued next begin when `from` has reached this point. @return whether it is being
  /// recorded
  bool fork(cudaStream_t from);
  /// Notes that an operation was queued.
  void note_operation();
  /// Lets `into` wait for all operations except the last `but_last`.
  void join(cudaStream_t into, std::size_t but_last);

 private:
  /// Drops operations of a recording that was given up: nothing waits for them. @return whether `stream`
  /// records
  bool forget_other_recordings(cudaStream_t stream);

  c10::DeviceIndex device_;
  StreamHandle stream_;
  EventHandle forked_;
  std::deque<EventHandle> ends_;    // of operations that have not been joined
  std::vector<EventHandle> spare_;  // may be recorded again at any time: a wait refers to the earlier record
  unsigned long long recording_ = 0;  // the recording that ends_ belong to; 0: none
};

}  // namespace skyline::cuda
