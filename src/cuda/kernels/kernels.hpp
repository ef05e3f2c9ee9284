#pragma once

#include "train/kernels/batch_norm_plan.hpp"
#include "train/kernels/cross_entropy.hpp"
#include "train/kernels/dropout.hpp"
#include "train/kernels/gather.hpp"
#include "train/kernels/step_end.hpp"

#include <cuda_runtime_api.h>

namespace skyline::cuda {

/// Queues the kernel that makes a batch. All pointers must belong to the stream's device.
[[nodiscard]] cudaError_t launch_gather(const train::kernels::GatherPlan& plan, cudaStream_t stream);

[[nodiscard]] cudaError_t launch_dropout(const train::kernels::DropoutPlan& plan, cudaStream_t stream);

[[nodiscard]] cudaError_t launch_batch_norm_forward(const train::kernels::BatchNormPlan& plan,
                                                    cudaStream_t stream);
[[nodiscard]] cudaError_t launch_batch_norm_backward(const train::kernels::BatchNormPlan& plan,
                                                     cudaStream_t stream);
[[nodiscard]] cudaError_t launch_cross_entropy(const train::kernels::CrossEntropyPlan& plan,
                                               cudaStream_t stream);
[[nodiscard]] cudaError_t launch_end_step(const train::kernels::StepEnd& end, cudaStream_t stream);

}  // namespace skyline::cuda
