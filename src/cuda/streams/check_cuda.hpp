#pragma once

#include "core/system/unique_handle.hpp"

#include <cuda_runtime_api.h>

namespace skyline::cuda {

/// Checks the result of a call of CUDA.
/// @param call  its name for the message, e.g. "cudaGraphLaunch"
/// @throws c10::OutOfMemoryError if the device has no memory left, FaultError with CUDA's text otherwise
void check_cuda(cudaError_t status, const char* call);

/// Checks that the current device is not broken for good. Not while this thread records.
/// @throws FaultError with CUDA's text
void check_usable();

/// Drops an error, also from the state that the next check of this thread would read. For destructors.
void drop_cuda_error(cudaError_t status) noexcept;

/// Owns a handle of CUDA's runtime; errors of its destruction are dropped.
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

/// Returns whether the stream is in a recording that has been broken, by its own work or by another thread's.
bool is_invalidated(cudaStream_t stream);

/// Makes an event of a device, without a time stamp.
EventHandle make_event(int device);

}  // namespace skyline::cuda
