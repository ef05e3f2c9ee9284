#pragma once

#include "core/unique_handle.hpp"
#include "cuda/check_cuda.hpp"

#include <cuda_runtime_api.h>

namespace skyline::cuda {

/// Handles of CUDA's runtime; errors of their ends are dropped.
template <typename Handle, cudaError_t (*kDestroy)(Handle)>
struct CudaTraits {
  using Type = Handle;
  static constexpr Type kNull = nullptr;
  static void close(Type handle) noexcept { drop_cuda_error(kDestroy(handle)); }
};
using StreamHandle = UniqueHandle<CudaTraits<cudaStream_t, cudaStreamDestroy>>;
using EventHandle = UniqueHandle<CudaTraits<cudaEvent_t, cudaEventDestroy>>;
using GraphHandle = UniqueHandle<CudaTraits<cudaGraph_t, cudaGraphDestroy>>;
using GraphExecHandle = UniqueHandle<CudaTraits<cudaGraphExec_t, cudaGraphExecDestroy>>;

/// Whether the stream is in a recording that has been broken, by its own work or by another thread's.
inline bool is_invalidated(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  drop_cuda_error(cudaStreamIsCapturing(stream, &status));
  return status == cudaStreamCaptureStatusInvalidated;
}

/// An event without a time stamp, of the current device.
inline EventHandle make_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return EventHandle(event);
}

}  // namespace skyline::cuda
