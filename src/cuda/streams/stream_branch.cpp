#include "cuda/streams/stream_branch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <c10/cuda/CUDAGuard.h>

namespace skyline::cuda {
namespace {

/// Makes a stream of higher priority, for operations that all members wait for.
StreamHandle make_urgent_stream(c10::DeviceIndex device) {
  const c10::cuda::CUDAGuard guard(device);
  int least = 0;
  int greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest),
             "cudaStreamCreateWithPriority");
  return StreamHandle(stream);
}

}  // namespace

StreamBranch::StreamBranch(c10::DeviceIndex device)
    : device_(device), stream_(make_urgent_stream(device)), forked_(make_event(device)) {}

void StreamBranch::forget_other_recordings(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  check_cuda(cudaStreamGetCaptureInfo(stream, &status, &id), "cudaStreamGetCaptureInfo");
  const unsigned long long recording = status != cudaStreamCaptureStatusNone ? id : 0;
  if (std::exchange(recording_, recording) != recording) {
    std::move(ends_.begin(), ends_.end(), std::back_inserter(spare_));
    ends_.clear();
  }
}

void StreamBranch::fork(cudaStream_t from) {
  forget_other_recordings(from);
  check_cuda(cudaEventRecord(forked_.get(), from), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(stream_.get(), forked_.get(), 0), "cudaStreamWaitEvent");
}

void StreamBranch::note_operation() {
  EventHandle end;
  if (spare_.empty()) {
    end = make_event(device_);
  } else {
    end = std::move(spare_.back());
    spare_.pop_back();
  }
  check_cuda(cudaEventRecord(end.get(), stream_.get()), "cudaEventRecord");
  ends_.push_back(std::move(end));
}

void StreamBranch::join(cudaStream_t into, std::size_t but_last) {
  forget_other_recordings(into);
  if (ends_.size() <= but_last) return;
  while (ends_.size() > but_last) {
    spare_.push_back(std::move(ends_.front()));
    ends_.pop_front();
  }
  check_cuda(cudaStreamWaitEvent(into, spare_.back().get(), 0), "cudaStreamWaitEvent");
}

}  // namespace skyline::cuda
