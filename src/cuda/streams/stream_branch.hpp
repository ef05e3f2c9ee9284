#pragma once

#include "cuda/streams/check_cuda.hpp"

#include <cstddef>
#include <deque>
#include <vector>

#include <c10/core/Device.h>

namespace skyline::cuda {

/// A stream whose operations run beside those of other streams. Before each operation it is forked from a
/// stream, and later joined into one. Forks and joins are recorded if these streams record. The stream's
/// device must be current in all calls.
class StreamBranch {
 public:
  explicit StreamBranch(c10::DeviceIndex device);

  cudaStream_t stream() const { return stream_.get(); }
  /// Makes the next operations wait for this point of `from`.
  void fork(cudaStream_t from);
  /// Notes that an operation was queued.
  void note_operation();
  /// Lets `into` wait for all operations except the last `but_last`.
  void join(cudaStream_t into, std::size_t but_last);

 private:
  /// Drops the operations of an abandoned recording.
  void forget_other_recordings(cudaStream_t stream);

  c10::DeviceIndex device_;
  StreamHandle stream_;
  EventHandle forked_;
  std::deque<EventHandle> ends_;    // ends of the operations that have not been joined
  std::vector<EventHandle> spare_;  // free events; an earlier wait is not affected when one is recorded again
  unsigned long long recording_ = 0;  // recording to which ends_ belong, or 0
};

}  // namespace skyline::cuda
