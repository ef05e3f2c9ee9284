#pragma once

namespace skyline::cuda {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffU;

/// Returns the sum over the lanes of a warp, the same in each of them.
__device__ inline float warp_sum(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

__device__ inline float warp_max(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

/// Returns the sum over the threads of a block of whole warps, the same in each of them. All threads call it.
__device__ inline float block_sum(float value) {
  __shared__ float sums[kWarp];
  __syncthreads();  // the last call's sums have been read
  value = warp_sum(value);
  if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp] = value;
  __syncthreads();
  const unsigned lane = threadIdx.x % kWarp;
  return warp_sum(lane < blockDim.x / kWarp ? sums[lane] : 0.0F);
}

}  // namespace skyline::cuda
