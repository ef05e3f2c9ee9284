#include "cuda/kernels/block_sums.hpp"
#include "cuda/kernels/kernels.hpp"

#include <algorithm>
#include <cstdint>

namespace skyline::cuda {
namespace {

using train::kernels::BatchNormPlan;

constexpr int kMostThreads = 1024;

/// The values that a thread reads and writes at a time.
template <int kWidth>
struct Pack;
template <>
struct Pack<1> {
  float values[1];
};
template <>
struct alignas(16) Pack<4> {
  float values[4];
};

/// A block's part of a channel: some samples. Channels are along x, of which a grid may have more than along
/// y.
template <int kWidth>
class ChannelPart {
 public:
  __device__ explicit ChannelPart(const BatchNormPlan& plan)
      : channel_(blockIdx.x), packs_(static_cast<std::uint32_t>(plan.pixels / kWidth)) {
    const auto each = static_cast<std::uint32_t>((plan.samples + gridDim.y - 1) / gridDim.y);
    const auto all = static_cast<std::uint32_t>(plan.samples);
    first_ = min(blockIdx.y * each, all);
    count_ = min(each, all - first_) * packs_;
    stride_ = static_cast<std::size_t>(plan.channels * plan.pixels);
    base_ = static_cast<std::size_t>(channel_) * static_cast<std::size_t>(plan.pixels);
  }

  __device__ std::uint32_t channel() const { return channel_; }
  __device__ float rows() const { return static_cast<float>(count_ * kWidth); }

  /// Calls visit(place) for the place of each pack of this thread.
  template <typename Visit>
  __device__ void visit(const Visit& visit) const {
    for (std::uint32_t i = threadIdx.x; i < count_; i += blockDim.x) {
      const std::uint32_t sample = i / packs_;
      visit((first_ + sample) * stride_ + base_ + static_cast<std::size_t>(i - sample * packs_) * kWidth);
    }
  }

 private:
  std::uint32_t channel_;
  std::uint32_t packs_;  // packs of a sample
  std::uint32_t first_;  // sample
  std::uint32_t count_;  // packs
  std::size_t stride_;
  std::size_t base_;
};

template <int kWidth>
__device__ Pack<kWidth> read(const float* values, std::size_t place) {
  return *reinterpret_cast<const Pack<kWidth>*>(values + place);
}
template <int kWidth>
__device__ void write(float* values, std::size_t place, const Pack<kWidth>& pack) {
  *reinterpret_cast<Pack<kWidth>*>(values + place) = pack;
}

/// The mean of a part or channel, and the sum of squared deviations from it.
struct Moments {
  float mean;
  float squares;
};

template <int kWidth>
__device__ Moments moments_of(const BatchNormPlan& plan, const ChannelPart<kWidth>& part) {
  float sum = 0;
  part.visit([&](std::size_t place) {
    const auto pack = read<kWidth>(plan.input, place);
    for (const float value : pack.values) sum += value;
  });
  const float mean = part.rows() == 0 ? 0.0F : block_sum(sum) / part.rows();
  float squares = 0;
  part.visit([&](std::size_t place) {
    const auto pack = read<kWidth>(plan.input, place);
    for (const float value : pack.values) squares += (value - mean) * (value - mean);
  });
  return {mean, block_sum(squares)};
}

/// Returns one of a channel's partial sums, the lane's; 0 if there are fewer.
__device__ float partial_of(const BatchNormPlan& plan, int which, std::uint32_t channel) {
  const unsigned lane = threadIdx.x % kWarp;
  if (lane >= gridDim.y) return 0;
  return plan.partial_sums[(static_cast<std::size_t>(which) * gridDim.y + lane) *
                               static_cast<std::size_t>(plan.channels) +
                           channel];
}

__device__ void keep_partials(const BatchNormPlan& plan, std::uint32_t channel, float first, float second) {
  if (threadIdx.x != 0) return;
  const auto channels = static_cast<std::size_t>(plan.channels);
  plan.partial_sums[blockIdx.y * channels + channel] = first;
  plan.partial_sums[(gridDim.y + blockIdx.y) * channels + channel] = second;
}

/// Merges the moments of a channel's parts; each warp does, so that no thread waits for another.
/// @see Chan, Golub and LeVeque, The American Statistician 37 (1983)
__device__ Moments merged_moments(const BatchNormPlan& plan, std::uint32_t channel) {
  const unsigned lane = threadIdx.x % kWarp;
  const auto each = static_cast<std::uint32_t>((plan.samples + gridDim.y - 1) / gridDim.y);
  const auto all = static_cast<std::uint32_t>(plan.samples);
  const std::uint32_t samples = lane < gridDim.y ? min(each, all - min(lane * each, all)) : 0;
  const float rows = static_cast<float>(samples) * static_cast<float>(plan.pixels);
  const float mean_of_part = partial_of(plan, 0, channel);
  const float all_rows = static_cast<float>(plan.samples * plan.pixels);
  const float mean = warp_sum(rows * mean_of_part) / all_rows;
  const float distance = mean_of_part - mean;
  return {mean, warp_sum(partial_of(plan, 1, channel) + rows * distance * distance)};
}

/// Normalizes a block's part; one block of the channel keeps what later passes need.
template <int kWidth>
__device__ void normalize(const BatchNormPlan& plan, const ChannelPart<kWidth>& part,
                          const Moments& moments) {
  const std::uint32_t c = part.channel();
  const float rows = static_cast<float>(plan.samples * plan.pixels);
  const float inverse = rsqrtf(moments.squares / rows + plan.epsilon);
  const float scale = inverse * plan.weight[c];
  const float bias = plan.bias[c];
  part.visit([&](std::size_t place) {
    auto pack = read<kWidth>(plan.input, place);
    for (float& value : pack.values) {
      value = fmaf(value - moments.mean, scale, bias);
      if (plan.relu && value < 0) value = 0;
    }
    write<kWidth>(plan.output, place, pack);
  });
  if (blockIdx.y != 0 || threadIdx.x != 0) return;
  plan.mean[c] = moments.mean;
  plan.inverse_deviation[c] = inverse;
  const float mean = moments.mean + (plan.offset == nullptr ? 0.0F : plan.offset[c]);
  plan.running_mean[c] += plan.momentum * (mean - plan.running_mean[c]);
  plan.running_variance[c] += plan.momentum * (moments.squares / (rows - 1) - plan.running_variance[c]);
}

template <int kWidth>
__global__ void __launch_bounds__(kMostThreads) forward_kernel(const BatchNormPlan plan) {
  const ChannelPart<kWidth> part(plan);
  normalize(plan, part, moments_of(plan, part));
}

template <int kWidth>
__global__ void __launch_bounds__(kMostThreads) moments_kernel(const BatchNormPlan plan) {
  const ChannelPart<kWidth> part(plan);
  const Moments moments = moments_of(plan, part);
  keep_partials(plan, part.channel(), moments.mean, moments.squares);
}

template <int kWidth>
__global__ void __launch_bounds__(kMostThreads) normalize_kernel(const BatchNormPlan plan) {
  const ChannelPart<kWidth> part(plan);
  normalize(plan, part, merged_moments(plan, part.channel()));
}

/// What a channel's gradients are made from.
struct Slopes {
  float sum;       // sum of the gradients that reach the normalized values
  float products;  // sum of the products of each gradient and its normalized value
};

/// A channel's values in the backward pass.
class Channel {
 public:
  __device__ Channel(const BatchNormPlan& plan, std::uint32_t channel)
      : relu_(plan.relu),
        mean_(plan.mean[channel]),
        inverse_(plan.inverse_deviation[channel]),
        scale_(inverse_ * plan.weight[channel]),
        bias_(plan.bias[channel]) {}

  /// Returns the gradient before the ReLU, whose sign is found as the forward pass found it.
  __device__ float slope(float input, float gradient) const {
    return relu_ && fmaf(input - mean_, scale_, bias_) <= 0 ? 0.0F : gradient;
  }
  __device__ float normalized(float input) const { return (input - mean_) * inverse_; }
  __device__ float scale() const { return scale_; }

 private:
  bool relu_;
  float mean_;
  float inverse_;
  float scale_;
  float bias_;
};

template <int kWidth>
__device__ Slopes slopes_of(const BatchNormPlan& plan, const ChannelPart<kWidth>& part,
                            const Channel& channel) {
  Slopes slopes{0, 0};
  part.visit([&](std::size_t place) {
    const auto input = read<kWidth>(plan.input, place);
    const auto gradient = read<kWidth>(plan.gradient, place);
    for (int i = 0; i < kWidth; ++i) {
      const float slope = channel.slope(input.values[i], gradient.values[i]);
      slopes.sum += slope;
      slopes.products += slope * channel.normalized(input.values[i]);
    }
  });
  return {block_sum(slopes.sum), block_sum(slopes.products)};
}

template <int kWidth>
__device__ void apply_slopes(const BatchNormPlan& plan, const ChannelPart<kWidth>& part,
                             const Channel& channel, const Slopes& slopes) {
  const float rows = static_cast<float>(plan.samples * plan.pixels);
  const float mean = slopes.sum / rows;
  const float tilt = slopes.products / rows;
  part.visit([&](std::size_t place) {
    const auto input = read<kWidth>(plan.input, place);
    auto gradient = read<kWidth>(plan.gradient, place);
    for (int i = 0; i < kWidth; ++i) {
      const float slope = channel.slope(input.values[i], gradient.values[i]);
      gradient.values[i] = channel.scale() * (slope - mean - channel.normalized(input.values[i]) * tilt);
    }
    write<kWidth>(plan.input_gradient, place, gradient);
  });
  if (blockIdx.y != 0 || threadIdx.x != 0) return;
  plan.weight_gradient[part.channel()] = slopes.products;
  plan.bias_gradient[part.channel()] = slopes.sum;
}

template <int kWidth>
__global__ void __launch_bounds__(kMostThreads) backward_kernel(const BatchNormPlan plan) {
  const ChannelPart<kWidth> part(plan);
  const Channel channel(plan, part.channel());
  apply_slopes(plan, part, channel, slopes_of(plan, part, channel));
}

template <int kWidth>
__global__ void __launch_bounds__(kMostThreads) slopes_kernel(const BatchNormPlan plan) {
  const ChannelPart<kWidth> part(plan);
  const Slopes slopes = slopes_of(plan, part, Channel(plan, part.channel()));
  keep_partials(plan, part.channel(), slopes.sum, slopes.products);
}

template <int kWidth>
__global__ void __launch_bounds__(kMostThreads) apply_kernel(const BatchNormPlan plan) {
  const ChannelPart<kWidth> part(plan);
  const std::uint32_t c = part.channel();
  const Slopes slopes{warp_sum(partial_of(plan, 0, c)), warp_sum(partial_of(plan, 1, c))};
  apply_slopes(plan, part, Channel(plan, c), slopes);
}

/// Returns whether four values can be read and written at once everywhere.
bool takes_packs_of_four(const BatchNormPlan& plan) {
  std::uintptr_t bits = static_cast<std::uintptr_t>(plan.pixels) * sizeof(float);
  for (const float* values : {plan.input, plan.gradient, static_cast<const float*>(plan.output),
                              static_cast<const float*>(plan.input_gradient)}) {
    bits |= reinterpret_cast<std::uintptr_t>(values);
  }
  return bits % alignof(Pack<4>) == 0;
}

/// Queues `whole` if a block does a channel, else the pass that sums and the one that uses the sums.
template <typename Kernel>
cudaError_t launch(const BatchNormPlan& plan, int width, Kernel whole, Kernel sums, Kernel rest,
                   cudaStream_t stream) {
  if (plan.rows() == 0 || plan.channels == 0) return cudaSuccess;
  const std::int64_t splits = plan.splits();
  const std::int64_t packs = (plan.samples + splits - 1) / splits * (plan.pixels / width);
  const std::int64_t warps =
      std::clamp<std::int64_t>((packs / 2 + kWarp - 1) / kWarp, 1, kMostThreads / kWarp);
  const dim3 grid(static_cast<unsigned>(plan.channels), static_cast<unsigned>(splits));
  const auto threads = static_cast<unsigned>(warps * kWarp);
  if (splits == 1) {
    whole<<<grid, threads, 0, stream>>>(plan);
  } else {
    sums<<<grid, threads, 0, stream>>>(plan);
    rest<<<grid, threads, 0, stream>>>(plan);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_batch_norm_forward(const BatchNormPlan& plan, cudaStream_t stream) {
  return takes_packs_of_four(plan)
             ? launch(plan, 4, forward_kernel<4>, moments_kernel<4>, normalize_kernel<4>, stream)
             : launch(plan, 1, forward_kernel<1>, moments_kernel<1>, normalize_kernel<1>, stream);
}

cudaError_t launch_batch_norm_backward(const BatchNormPlan& plan, cudaStream_t stream) {
  return takes_packs_of_four(plan)
             ? launch(plan, 4, backward_kernel<4>, slopes_kernel<4>, apply_kernel<4>, stream)
             : launch(plan, 1, backward_kernel<1>, slopes_kernel<1>, apply_kernel<1>, stream);
}

}  // namespace skyline::cuda
