#include "cuda/kernels/block_sums.hpp"
#include "cuda/kernels/kernels.hpp"

#include <algorithm>
#include <cstdint>

namespace skyline::cuda {
namespace {

using train::kernels::CrossEntropyPlan;

constexpr int kMostWarps = 32;

/// A sample's wanted probabilities: its labels', smoothed, then weighted.
class Wanted {
 public:
  __device__ Wanted(const CrossEntropyPlan& plan, std::int64_t sample)
      : weights_(plan.rule.weights),
        even_(static_cast<float>(plan.rule.smoothing) / static_cast<float>(plan.classes)),
        label_(plan.targets.labels[sample]) {
    const float rest = 1 - static_cast<float>(plan.rule.smoothing);
    const float share = plan.targets.shares == nullptr ? 1.0F : plan.targets.shares[sample];
    of_label_ = rest * share;
    if (plan.targets.others == nullptr) return;
    other_ = plan.targets.others[sample];
    of_other_ = rest * (1 - share);
  }

  __device__ float of(std::int64_t c) const {
    const float wanted = even_ + (c == label_ ? of_label_ : 0.0F) + (c == other_ ? of_other_ : 0.0F);
    return weights_ == nullptr ? wanted : wanted * weights_[c];
  }

 private:
  const float* weights_;
  float even_;
  std::int64_t label_;
  std::int64_t other_ = -1;
  float of_label_ = 0;
  float of_other_ = 0;
};

/// A warp does a sample: returns its loss and writes its gradient.
__device__ float loss_of_sample(const CrossEntropyPlan& plan, std::int64_t sample) {
  const float* const row = plan.logits + sample * plan.classes;
  const std::int64_t lane = threadIdx.x % kWarp;
  float best = -INFINITY;
  for (std::int64_t c = lane; c < plan.classes; c += kWarp) best = fmaxf(best, row[c]);
  best = warp_max(best);
  const Wanted wanted(plan, sample);
  float total = 0;
  float sum = 0;
  for (std::int64_t c = lane; c < plan.classes; c += kWarp) {
    total += expf(row[c] - best);
    sum += wanted.of(c);
  }
  total = warp_sum(total);
  sum = warp_sum(sum);
  const float log_total = logf(total);
  const float each = 1 / static_cast<float>(plan.batch);
  float loss = 0;
  for (std::int64_t c = lane; c < plan.classes; c += kWarp) {
    const float distance = row[c] - best;
    const float share = wanted.of(c);
    if (share > 0) loss += share * (log_total - distance);
    plan.gradient[sample * plan.classes + c] = (sum * (expf(distance) / total) - share) * each;
  }
  return warp_sum(loss);
}

/// One block, so that the losses are added in one order.
__global__ void __launch_bounds__(kMostWarps* kWarp) cross_entropy_kernel(const CrossEntropyPlan plan) {
  float losses = 0;
  const std::int64_t warps = blockDim.x / kWarp;
  for (std::int64_t sample = threadIdx.x / kWarp; sample < plan.samples; sample += warps) {
    losses += loss_of_sample(plan, sample);
  }
  const float sum = block_sum(threadIdx.x % kWarp == 0 ? losses : 0.0F);
  if (threadIdx.x == 0) *plan.share = sum / static_cast<float>(plan.batch);
}

}  // namespace

cudaError_t launch_cross_entropy(const CrossEntropyPlan& plan, cudaStream_t stream) {
  const std::int64_t warps = std::clamp<std::int64_t>(plan.samples, 1, kMostWarps);
  cross_entropy_kernel<<<1, static_cast<unsigned>(warps * kWarp), 0, stream>>>(plan);
  return cudaGetLastError();
}

}  // namespace skyline::cuda
