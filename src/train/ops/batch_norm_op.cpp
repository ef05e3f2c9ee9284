#include "train/ops/batch_norm_op.hpp"

#include "train/kernels/batch_norm_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

namespace skyline::train {
namespace {

/// Batch normalisation with our own kernels; the ReLU and the global average pooling after it use the same
/// passes over memory.
class BatchNormOp final : public BatchNormDefinition {
 public:
  BatchNormOp(const space::Layer& layer, LayerTensors& tensors, const DevicePlace& place)
      : BatchNormDefinition(layer, tensors, place),
        channels_(static_cast<std::size_t>(layer.input().channels)),
        mean_(channels_),
        variance_(channels_),
        sums_(2 * channels_ + 1),
        scale_(at::empty({layer.input().channels}, at::kFloat)),
        shift_(at::empty_like(scale_)) {}

  bool absorb(const space::Layer& next) override {
    if (next.kind == "relu" && !relu_ && !pool_) {
      relu_ = true;
      return true;
    }
    if (next.kind == "global_average_pool" && !pool_) {
      pool_ = true;
      return true;
    }
    return false;
  }

  void follow(FusingOp& producer) override {
    BatchNormDefinition::follow(producer);
    folded_ = producer.fold_affine(scale_, shift_);
  }

  at::Tensor forward(const Activations& inputs) override {
    input_ = channels_last(inputs.front());
    find_moments();
    update_running_statistics();
    set_scale_and_shift(mean_.data(), variance_.data());
    return apply(input_, at::Tensor());
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    const at::Tensor output_gradient = channels_last(gradient);
    const kernels::BatchNormBackward problem = backward_problem(output_gradient);
    kernels::backward_sums(problem, sum(), centered_sum());
    set_parameter_gradients();
    sum_over_members();
    const std::vector<float> factors = backward_factors();
    // Without pooling every element of the gradient is read before it is replaced.
    at::Tensor input_gradient = pool_ ? at::empty_like(input_) : output_gradient;
    kernels::backward_apply(problem, factors.data(), factors.data() + channels_,
                            factors.data() + 2 * channels_, values_of(input_gradient));
    input_.reset();
    return {input_gradient};
  }

  void prepare_inference() override {
    set_scale_and_shift(running_mean().const_data_ptr<float>(), running_variance().const_data_ptr<float>());
  }

  at::Tensor infer(const Activations& inputs) override {
    const bool in_place = is_only_owner(inputs.front());
    const at::Tensor input = channels_last(inputs.front());
    const at::Tensor target = in_place ? input : at::Tensor();
    if (!folded_) return apply(input, target);
    if (!pool_ && !relu_) return input;
    const std::vector<float> one(channels_, 1.0F);
    const std::vector<float> zero(channels_, 0.0F);
    return apply(input, target, one.data(), zero.data());
  }

 private:
  at::Tensor apply(const at::Tensor& input, const at::Tensor& target) {
    return apply(input, target, scale_.const_data_ptr<float>(), shift_.const_data_ptr<float>());
  }

  /// Scales, shifts, clips and pools. Writes into `target` if it is defined and nothing is pooled.
  at::Tensor apply(const at::Tensor& input, const at::Tensor& target, const float* scale,
                   const float* shift) {
    if (pool_) {
      at::Tensor pooled = at::empty({input.size(0), input.size(1), 1, 1}, input.scalar_type());
      kernels::scale_shift_pool(values_of(input), static_cast<std::size_t>(input.size(0)), pixels_of(input),
                                channels_, scale, shift, relu_, values_of(pooled));
      return pooled;
    }
    at::Tensor output = target.defined() ? target : at::empty_like(input);
    kernels::scale_shift(values_of(input), row_count(input), channels_, scale, shift, relu_,
                         values_of(output));
    return output;
  }

  void set_scale_and_shift(const float* mean, const float* variance) {
    const float* factors = weight().const_data_ptr<float>();
    const float* offsets = bias().const_data_ptr<float>();
    float* scale = scale_.mutable_data_ptr<float>();
    float* shift = shift_.mutable_data_ptr<float>();
    for (std::size_t c = 0; c < channels_; ++c) {
      const double factor =
          static_cast<double>(factors[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon_);
      scale[c] = static_cast<float>(factor);
      shift[c] = static_cast<float>(static_cast<double>(offsets[c]) - static_cast<double>(mean[c]) * factor);
    }
  }

  static std::size_t pixels_of(const at::Tensor& activation) {
    return static_cast<std::size_t>(activation.size(2) * activation.size(3));
  }

  /// Computes mean and variance, of all members' samples if they synchronize. It uses double, because the
  /// squares of members' means may be large compared with the variance.
  void find_moments() {
    rows_ = static_cast<double>(row_count(input_));
    kernels::batch_moments(values_of(input_), row_count(input_), channels_, sum(), centered_sum());
    if (place_.synchronized != nullptr) {
      for (std::size_t c = 0; c < channels_; ++c) {
        centered_sum()[c] = rows_ * (centered_sum()[c] + sum()[c] * sum()[c]);
        sum()[c] *= rows_;
      }
      sums_.back() = rows_;
      sum_over_members();
      rows_ = sums_.back();
      for (std::size_t c = 0; c < channels_; ++c) {
        sum()[c] /= rows_;
        centered_sum()[c] = std::max(0.0, centered_sum()[c] / rows_ - sum()[c] * sum()[c]);
      }
    }
    std::transform(sum(), centered_sum(), mean_.begin(), to_float);
    std::transform(centered_sum(), &sums_.back(), variance_.begin(), to_float);
  }

  static float to_float(double value) { return static_cast<float>(value); }
  double* sum() { return sums_.data(); }
  double* centered_sum() { return sums_.data() + channels_; }

  void sum_over_members() {
    if (place_.synchronized == nullptr) return;
    at::Tensor sums = at::from_blob(sums_.data(), {static_cast<std::int64_t>(sums_.size())}, at::kDouble);
    place_.synchronized->reducer->all_reduce(sums);
  }

  /// Updates the running statistics, except the variance for a single row, which has none.
  void update_running_statistics() {
    float* mean = running_mean().mutable_data_ptr<float>();
    float* variance = running_variance().mutable_data_ptr<float>();
    const float* offset = producer_offset_ == nullptr ? nullptr : producer_offset_->const_data_ptr<float>();
    const auto blend = [&](float old_value, double new_value) {
      return static_cast<float>((1 - momentum_) * static_cast<double>(old_value) + momentum_ * new_value);
    };
    for (std::size_t c = 0; c < channels_; ++c) {
      const double shifted =
          static_cast<double>(mean_[c]) + (offset == nullptr ? 0.0 : static_cast<double>(offset[c]));
      mean[c] = blend(mean[c], shifted);
      if (rows_ > 1) {
        variance[c] = blend(variance[c], static_cast<double>(variance_[c]) * (rows_ / (rows_ - 1)));
      }
    }
  }

  kernels::BatchNormBackward backward_problem(const at::Tensor& output_gradient) const {
    const std::size_t rows = row_count(input_);
    const std::size_t share = pool_ ? pixels_of(input_) : 1;
    return {.input = values_of(input_),
            .gradient = values_of(output_gradient),
            .rows = rows,
            .channels = channels_,
            .pixels_a_gradient_row = share,
            .relu = relu_,
            .mean = mean_.data(),
            .scale = scale_.const_data_ptr<float>(),
            .shift = shift_.const_data_ptr<float>()};
  }

  /// Returns each pixel's share of its pooled gradient: 1/pixels.
  double share_of_a_pixel() const { return pool_ ? 1.0 / static_cast<double>(pixels_of(input_)) : 1.0; }

  double inverse_deviation(std::size_t channel) const {
    return 1.0 / std::sqrt(static_cast<double>(variance_[channel]) + epsilon_);
  }

  /// Sets the gradients for this member's samples.
  void set_parameter_gradients() {
    const at::Tensor by_weight = at::empty_like(scale_);
    const at::Tensor by_bias = at::empty_like(scale_);
    auto* weight_values = by_weight.mutable_data_ptr<float>();
    auto* bias_values = by_bias.mutable_data_ptr<float>();
    const double share = share_of_a_pixel();
    for (std::size_t c = 0; c < channels_; ++c) {
      weight_values[c] = static_cast<float>(centered_sum()[c] * share * inverse_deviation(c));
      bias_values[c] = static_cast<float>(sum()[c] * share);
    }
    set_gradients(by_weight, by_bias);
  }

  /// Returns [a, b, c] of all channels: the gradient by the input is a * gradient + b * (input - mean) + c.
  std::vector<float> backward_factors() {
    std::vector<float> factors(3 * channels_);
    const float* weights = weight().const_data_ptr<float>();
    const double share = share_of_a_pixel();
    for (std::size_t c = 0; c < channels_; ++c) {
      const double inverse = inverse_deviation(c);
      const double factor = static_cast<double>(weights[c]) * inverse;
      factors[c] = static_cast<float>(factor * share);
      factors[channels_ + c] =
          static_cast<float>(-factor * inverse * (centered_sum()[c] * share * inverse) / rows_);
      factors[2 * channels_ + c] = static_cast<float>(-factor * (sum()[c] * share) / rows_);
    }
    return factors;
  }

  std::size_t channels_;
  bool relu_ = false;
  bool pool_ = false;
  bool folded_ = false;
  std::vector<float> mean_;
  std::vector<float> variance_;
  std::vector<double> sums_;  // per channel: sum, centered sum; then the number of rows
  at::Tensor scale_;
  at::Tensor shift_;
};

}  // namespace

std::unique_ptr<LayerOp> make_batch_norm_op(const space::Layer& layer, LayerTensors& tensors,
                                            const DevicePlace& place) {
  if (!place.has_own_kernels()) return make_device_batch_norm_op(layer, tensors, place);
  return std::make_unique<BatchNormOp>(layer, tensors, place);
}

}  // namespace skyline::train
