#pragma once

#include "core/unique_handle.hpp"
#include "cuda/check_cuda.hpp"

#include <cuda_runtime_api.h>

namespace skyline::cuda {

struct StreamTraits {
  using Type = cudaStream_t;
  static constexpr Type kNull = nullptr;
  static void close(Type stream) noexcept { drop_cuda_error(cudaStreamDestroy(stream)); }
};
using StreamHandle = UniqueHandle<StreamTraits>;

struct EventTraits {
  using Type = cudaEvent_t;
  static constexpr Type kNull = nullptr;
  static void close(Type event) noexcept { drop_cuda_error(cudaEventDestroy(event)); }
};
using EventHandle = UniqueHandle<EventTraits>;

struct GraphTraits {
  using Type = cudaGraph_t;
  static constexpr Type kNull = nullptr;
  static void close(Type graph) noexcept { drop_cuda_error(cudaGraphDestroy(graph)); }
};
using GraphHandle = UniqueHandle<GraphTraits>;

struct GraphExecTraits {
  using Type = cudaGraphExec_t;
  static constexpr Type kNull = nullptr;
  static void close(Type graph) noexcept { drop_cuda_error(cudaGraphExecDestroy(graph)); }
};
using GraphExecHandle = UniqueHandle<GraphExecTraits>;

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
