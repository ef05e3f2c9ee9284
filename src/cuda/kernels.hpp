#pragma once

#include "train/kernels/dropout.hpp"
#include "train/kernels/gather.hpp"

#include <cuda_runtime_api.h>

namespace skyline::cuda {

/// Queues the kernel that makes a batch. All pointers must belong to the stream's device.
[[nodiscard]] cudaError_t launch_gather(const train::kernels::GatherPlan& plan, cudaStream_t stream);

[[nodiscard]] cudaError_t launch_dropout(const train::kernels::DropoutPlan& plan, cudaStream_t stream);

}  // namespace skyline::cuda
