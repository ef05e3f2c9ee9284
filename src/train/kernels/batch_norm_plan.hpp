#pragma once

#include <algorithm>
#include <cstdint>

namespace skyline::train::kernels {

/// A pass of batch normalization over float32 activations [samples, channels, pixels] on a device, with an
/// optional ReLU after it. A channel's rows are its samples * pixels values.
struct BatchNormPlan {
  std::int64_t samples = 0;
  std::int64_t channels = 0;
  std::int64_t pixels = 0;
  bool relu = false;
  float momentum = 0;
  float epsilon = 0;
  const float* input = nullptr;
  const float* weight = nullptr;  // [channels], as all below unless they say otherwise
  const float* bias = nullptr;
  const float* offset = nullptr;  // constant that the input lacks; nullptr if there is none
  float* running_mean = nullptr;
  float* running_variance = nullptr;
  float* mean = nullptr;               // mean of the batch, kept between the forward and the backward pass
  float* inverse_deviation = nullptr;  // kept like `mean`
  float* partial_sums = nullptr;       // [2, splits, channels]: scratch memory, unused if splits is 1
  float* output = nullptr;             // output of the forward pass, as large as the input
  // Gradient by the output; it and the members below belong to the backward pass.
  const float* gradient = nullptr;
  float* input_gradient = nullptr;  // may be `gradient`
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;

  std::int64_t rows() const { return samples * pixels; }
  /// Number of parts into which a channel's samples are split, each for a block of threads. It depends on
  /// shapes alone, so that sums have one order.
  std::int64_t splits() const {
    constexpr std::int64_t kRowsOfPart = 32'768;
    constexpr std::int64_t kMost = 32;
    return std::clamp<std::int64_t>(std::min(rows() / kRowsOfPart, samples), 1, kMost);
  }
};

/// Do the passes on the host, by the definition, in float64: what devices are compared with.
void batch_norm_forward(const BatchNormPlan& plan);
void batch_norm_backward(const BatchNormPlan& plan);

}  // namespace skyline::train::kernels
