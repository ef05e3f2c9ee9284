#pragma once

#include "train/kernels/dropout.hpp"
#include "train/kernels/gather.hpp"

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace skyline::cuda {

/// Queues the kernel that makes a batch. All pointers are of the stream's device.
[[nodiscard]] cudaError_t launch_gather(const train::kernels::GatherPlan& plan, cudaStream_t stream);

/// Queues values[i] * mask.scale where i is kept, else 0, in place. @param seed  on the device, where it is
/// added to the mask
[[nodiscard]] cudaError_t launch_dropout(train::kernels::DropoutMask mask, const std::int64_t* seed,
                                         std::size_t count, float* values, cudaStream_t stream);

}  // namespace skyline::cuda
