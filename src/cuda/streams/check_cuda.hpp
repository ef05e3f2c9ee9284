#pragma once

#include "core/system/unique_handle.hpp"

#include <cuda_runtime_api.h>

namespace skyline::cuda {

/// @param call  its name, for the message: "cudaGraphLaunch"
/// @throws FaultError with CUDA's text, c10::OutOfMemoryError if it says that the device's memory is out
void check_cuda(cudaError_t status, const char* call);

/// For destructors: an error is dropped, also from what the next check of this thread would find.
void drop_cuda_error(cudaError_t status) noexcept;

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
bool is_invalidated(cudaStream_t stream);

/// An event without a time stamp, of a device.
EventHandle make_event(int device);

}  // namespace skyline::cuda
