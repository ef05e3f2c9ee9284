#include "cuda/kernels/block_sums.hpp"
#include "cuda/kernels/kernels.hpp"

#include <algorithm>

namespace skyline::cuda {
namespace {

using train::kernels::Curves;
using train::kernels::DropoutMask;
using train::kernels::DropoutPlan;
using train::kernels::GatheredImage;
using train::kernels::GatheredRow;
using train::kernels::GatherPlan;
using train::kernels::StepEnd;

constexpr int kMostThreads = 128;
/// Elements of an image that one block makes. They are few, so that small batches fill the device too. Each
/// thread draws for itself how the image is changed: a warp takes no longer for equal work than one thread.
constexpr int kElementsOfBlock = 4 * kMostThreads;

/// Does what find_curves does, with all threads of a block, for an image that is the same for all of them.
__device__ void share_curves(const GatherPlan& plan, GatheredImage& image, Curves& curves) {
  using train::kernels::kLevels;
  __shared__ std::int32_t counts[kLevels];
  if (!needs_curves(image)) return;
  const auto first = static_cast<std::int32_t>(threadIdx.x);
  const auto step = static_cast<std::int32_t>(blockDim.x);
  const std::int32_t plane = plan.augment.height * plan.augment.width;
  for (std::int32_t channel = 0; channel < plan.channels; ++channel) {
    for (std::int32_t i = first; i < kLevels; i += step) counts[i] = 0;
    __syncthreads();
    for (std::int32_t i = first; i < plane; i += step) {
      atomicAdd(&counts[counted_pixel(plan, image, channel, i)], 1);
    }
    __syncthreads();
    if (first == 0) {
      write_curve(image.draw.trivial.by_histogram, counts, plan.augment.brightest,
                  curves + channel * kLevels);
    }
    __syncthreads();
  }
  image.draw.trivial.curves = curves;
}

__global__ void gather_kernel(const GatherPlan plan) {
  __shared__ Curves own;
  __shared__ Curves others;
  const std::int64_t row = blockIdx.x;
  GatheredRow found = find_row(plan, row);
  share_curves(plan, found.image, own);
  share_curves(plan, found.other, others);
  const std::int32_t elements = elements_of_image(plan);
  const auto begin = static_cast<std::int32_t>(blockIdx.y) * kElementsOfBlock;
  const std::int32_t end = min(elements, begin + kElementsOfBlock);
  float* const target = plan.images + row * elements;
  for (std::int32_t element = begin + static_cast<std::int32_t>(threadIdx.x); element < end;
       element += static_cast<std::int32_t>(blockDim.x)) {
    target[element] = gathered_value(plan, found, element);
  }
  if (blockIdx.y == 0 && threadIdx.x == 0) write_targets(plan, found, row);
}

/// Each thread handles two elements, which share a random number if the first one's position is even.
__global__ void dropout_kernel(const DropoutPlan plan) {
  DropoutMask mask = plan.mask;
  mask.seed = static_cast<std::uint64_t>(*plan.seed);
  const std::size_t step = std::size_t{2} * gridDim.x * blockDim.x;
  std::size_t first = 2 * (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x);
  for (; first < plan.count; first += step) {
    for (std::size_t i = first; i < first + 2 && i < plan.count; ++i) {
      plan.target.set(i, is_kept(mask, mask.first + i) ? plan.source.at(i) * mask.scale : 0.0F);
    }
  }
}

__global__ void end_step_kernel(const StepEnd end) {
  end_step(end);
}

}  // namespace

cudaError_t launch_end_step(const StepEnd& end, cudaStream_t stream) {
  end_step_kernel<<<1, 1, 0, stream>>>(end);
  return cudaGetLastError();
}

cudaError_t launch_gather(const GatherPlan& plan, cudaStream_t stream) {
  const int elements = elements_of_image(plan);
  if (plan.rows == 0 || elements == 0) return cudaSuccess;
  const int threads = std::min(kMostThreads, (elements + kWarp - 1) / kWarp * kWarp);
  const int parts = (elements + kElementsOfBlock - 1) / kElementsOfBlock;
  const dim3 grid(static_cast<unsigned>(plan.rows), static_cast<unsigned>(parts));
  gather_kernel<<<grid, threads, 0, stream>>>(plan);
  return cudaGetLastError();
}

cudaError_t launch_dropout(const DropoutPlan& plan, cudaStream_t stream) {
  if (plan.count == 0) return cudaSuccess;
  constexpr std::size_t kMostBlocks = 4096;
  constexpr std::size_t kOfBlock = std::size_t{2} * kMostThreads;
  const std::size_t blocks = std::min(kMostBlocks, (plan.count + kOfBlock - 1) / kOfBlock);
  dropout_kernel<<<static_cast<unsigned>(blocks), kMostThreads, 0, stream>>>(plan);
  return cudaGetLastError();
}

}  // namespace skyline::cuda
