#include "cuda/streams/check_cuda.hpp"

#include "skyline/core/error.hpp"

#include <string>

#include <c10/cuda/CUDAGuard.h>
#include <c10/util/Exception.h>

namespace skyline::cuda {

void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  const std::string text = std::string(call) + ": " + cudaGetErrorString(status);
  drop_cuda_error(status);
  TORCH_CHECK_WITH(OutOfMemoryError, status != cudaErrorMemoryAllocation, text);
  throw FaultError(text);
}

void check_usable() {
  check_cuda(cudaFree(nullptr), "CUDA");  // does nothing, but a broken context refuses even that
}

void drop_cuda_error(cudaError_t status) noexcept {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
}

bool is_invalidated(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  drop_cuda_error(cudaStreamIsCapturing(stream, &status));
  return status == cudaStreamCaptureStatusInvalidated;
}

EventHandle make_event(int device) {
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return EventHandle(event);
}

}  // namespace skyline::cuda
