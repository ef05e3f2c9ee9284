#pragma once

#include <cuda_runtime_api.h>

namespace skyline::cuda {

/// @param call  its name, for the message: "cudaGraphLaunch"
/// @throws FaultError with CUDA's text, c10::OutOfMemoryError if it says that the device's memory is out
void check_cuda(cudaError_t status, const char* call);

/// For destructors: an error is dropped, also from what the next check of this thread would find.
void drop_cuda_error(cudaError_t status) noexcept;

}  // namespace skyline::cuda
