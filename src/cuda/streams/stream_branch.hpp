#pragma once

#include "cuda/streams/cuda_handles.hpp"

#include <cstddef>
#include <deque>
#include <vector>

#include <c10/core/Device.h>

namespace skyline::cuda {

/// A stream whose operations go on beside those of the streams that they come from: forked from one before
/// each operation, joined into one later. Forks and joins become a part of what these streams record. Its
/// device is current in all calls.
class StreamBranch {
 public:
  explicit StreamBranch(c10::DeviceIndex device);

  cudaStream_t stream() const { return stream_.get(); }
  /// What is queued next begins when `from` has come here. @return  whether it is being recorded
  bool fork(cudaStream_t from);
  /// An operation has been queued.
  void note_operation();
  /// `into` goes on when all operations but the last `but_last` ones are done.
  void join(cudaStream_t into, std::size_t but_last);

 private:
  /// Operations of a recording that was given up are nothing to wait for. @return  whether `stream` records
  bool forget_other_recordings(cudaStream_t stream);

  StreamHandle stream_;
  EventHandle forked_;
  std::deque<EventHandle> ends_;      // of the operations that have not been joined
  std::vector<EventHandle> spare_;    // may be recorded anew at any time: a wait is for what they were then
  unsigned long long recording_ = 0;  // in which ends_ are; 0: none
};

}  // namespace skyline::cuda
