#include "skyline/core/error.hpp"

#include "train/device/device_place.hpp"
#include "train/kernels/batch_norm_kernels.hpp"
#include "train/ops/batch_norm_definition.hpp"
#include "train/ops/built_in_ops.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

namespace skyline::train {
namespace {

/// Batch normalisation, with the ReLU and the global average pooling behind it in the same passes over
/// memory.
class BatchNormOp final : public BatchNormDefinition {
 public:
  BatchNormOp(const space::Layer& layer, LayerTensors& tensors, const DevicePlace& place)
      : BatchNormDefinition(layer, tensors),
        channels_(static_cast<std::size_t>(layer.input().channels)),
        reducer_(place.synchronized == nullptr ? nullptr : place.synchronized->reducer),
        mean_(channels_),
        variance_(channels_),
        a_(channels_),
        b_(channels_),
        c_(channels_),
        sums_(2 * channels_ + 1),
        one_(channels_, 1.0F),
        zero_(channels_, 0.0F),
        scale_(at::empty({layer.input().channels}, at::kFloat)),
        shift_(at::empty_like(scale_)),
        weight_gradient_(at::empty_like(scale_)),
        bias_gradient_(at::empty_like(scale_)) {}

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

  void follow(FusedOp& producer) override {
    producer_offset_ = producer.defer_offset();
    folded_ = producer.fold_affine(scale_, shift_);
    require(folded_ || producer_offset_ == nullptr, "an op defers its offset, but does not fold one in");
  }

  at::Tensor forward(const Activations& inputs) override {
    input_ = channels_last(inputs.front());
    rows_ = static_cast<double>(row_count(input_));
    if (reducer_ == nullptr) {
      kernels::batch_statistics(input_.const_data_ptr<float>(), row_count(input_), channels_, mean_.data(),
                                variance_.data());
    } else {
      find_statistics_of_all_members();
    }
    update_running_statistics();
    set_scale_and_shift(mean_.data(), variance_.data());
    return apply(input_, at::Tensor());
  }

  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    const at::Tensor output_gradient = channels_last(gradient);
    const kernels::BatchNormBackward problem = backward_problem(output_gradient);
    kernels::backward_sums(problem, sum(), centered_sum());
    set_parameter_gradients();
    if (reducer_ != nullptr) {
      sum_over_members();
    }
    set_backward_factors();
    // Without pooling every element of the gradient is read before it is replaced.
    at::Tensor input_gradient = pool_ ? at::empty_like(input_) : output_gradient;
    kernels::backward_apply(problem, a_.data(), b_.data(), c_.data(),
                            input_gradient.mutable_data_ptr<float>());
    input_.reset();
    return {input_gradient};
  }

  void prepare_inference() override {
    const float* mean = tensors_.value("running_mean").const_data_ptr<float>();
    set_scale_and_shift(mean, tensors_.value("running_var").const_data_ptr<float>());
  }

  at::Tensor infer(const Activations& inputs) override {
    const bool in_place = is_only_owner(inputs.front());
    const at::Tensor input = channels_last(inputs.front());
    const at::Tensor target = in_place ? input : at::Tensor();
    if (!folded_) {
      return apply(input, target);
    }
    if (!pool_ && !relu_) {
      return input;
    }
    return apply(input, target, one_.data(), zero_.data());
  }

 private:
  at::Tensor apply(const at::Tensor& input, const at::Tensor& target) {
    return apply(input, target, scale_.const_data_ptr<float>(), shift_.const_data_ptr<float>());
  }

  /// Scales, shifts, clips and pools; into `target` if it is defined and nothing is pooled.
  at::Tensor apply(const at::Tensor& input, const at::Tensor& target, const float* scale,
                   const float* shift) {
    const auto samples = static_cast<std::size_t>(input.size(0));
    const float* source = input.const_data_ptr<float>();
    if (pool_) {
      at::Tensor pooled = at::empty({input.size(0), input.size(1), 1, 1}, at::kFloat);
      kernels::scale_shift_pool(source, samples, pixels_of(input), channels_, scale, shift, relu_,
                                pooled.mutable_data_ptr<float>());
      return pooled;
    }
    at::Tensor output = target.defined() ? target : at::empty_like(input);
    kernels::scale_shift(source, row_count(input), channels_, scale, shift, relu_,
                         output.mutable_data_ptr<float>());
    return output;
  }

  void set_scale_and_shift(const float* mean, const float* variance) {
    const float* weight = tensors_.value("weight").const_data_ptr<float>();
    const float* bias = tensors_.value("bias").const_data_ptr<float>();
    float* scale = scale_.mutable_data_ptr<float>();
    float* shift = shift_.mutable_data_ptr<float>();
    for (std::size_t c = 0; c < channels_; ++c) {
      const double factor =
          static_cast<double>(weight[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon_);
      scale[c] = static_cast<float>(factor);
      shift[c] = static_cast<float>(static_cast<double>(bias[c]) - static_cast<double>(mean[c]) * factor);
    }
  }

  static std::size_t pixels_of(const at::Tensor& activation) {
    return static_cast<std::size_t>(activation.size(2) * activation.size(3));
  }

  /// Computes in double: the squares of members' means may be large beside the variance.
  void find_statistics_of_all_members() {
    kernels::batch_moments(input_.const_data_ptr<float>(), row_count(input_), channels_, sum(),
                           centered_sum());
    for (std::size_t c = 0; c < channels_; ++c) {
      centered_sum()[c] = rows_ * (centered_sum()[c] + sum()[c] * sum()[c]);
      sum()[c] *= rows_;
    }
    sums_.back() = rows_;
    sum_over_members();
    rows_ = sums_.back();
    for (std::size_t c = 0; c < channels_; ++c) {
      const double mean = sum()[c] / rows_;
      mean_[c] = static_cast<float>(mean);
      variance_[c] = static_cast<float>(std::max(0.0, centered_sum()[c] / rows_ - mean * mean));
    }
  }

  double* sum() { return sums_.data(); }
  double* centered_sum() { return sums_.data() + channels_; }

  void sum_over_members() {
    at::Tensor sums = at::from_blob(sums_.data(), {static_cast<std::int64_t>(sums_.size())}, at::kDouble);
    reducer_->all_reduce(sums);
  }

  /// Adds the offset that the producer left out: it changes only the mean. A single row has no variance.
  void update_running_statistics() {
    float* running_mean = tensors_.value("running_mean").mutable_data_ptr<float>();
    float* running_variance = tensors_.value("running_var").mutable_data_ptr<float>();
    const float* offset = producer_offset_ == nullptr ? nullptr : producer_offset_->const_data_ptr<float>();
    const auto blend = [&](float old_value, double new_value) {
      return static_cast<float>((1 - momentum_) * static_cast<double>(old_value) + momentum_ * new_value);
    };
    for (std::size_t c = 0; c < channels_; ++c) {
      const double shifted =
          static_cast<double>(mean_[c]) + (offset == nullptr ? 0.0 : static_cast<double>(offset[c]));
      running_mean[c] = blend(running_mean[c], shifted);
      if (rows_ > 1) {
        running_variance[c] =
            blend(running_variance[c], static_cast<double>(variance_[c]) * (rows_ / (rows_ - 1)));
      }
    }
  }

  kernels::BatchNormBackward backward_problem(const at::Tensor& output_gradient) const {
    const std::size_t rows = row_count(input_);
    const std::size_t share = pool_ ? pixels_of(input_) : 1;
    return {.input = input_.const_data_ptr<float>(),
            .gradient = output_gradient.const_data_ptr<float>(),
            .rows = rows,
            .channels = channels_,
            .pixels_a_gradient_row = share,
            .relu = relu_,
            .mean = mean_.data(),
            .scale = scale_.const_data_ptr<float>(),
            .shift = shift_.const_data_ptr<float>()};
  }

  /// Each pixel's share of its pooled gradient: 1/pixels.
  double share_of_a_pixel() const { return pool_ ? 1.0 / static_cast<double>(pixels_of(input_)) : 1.0; }

  double inverse_deviation(std::size_t channel) const {
    return 1.0 / std::sqrt(static_cast<double>(variance_[channel]) + epsilon_);
  }

  /// Sets the gradients of the parameters, for this member's samples.
  void set_parameter_gradients() {
    auto* weight_gradient = weight_gradient_.mutable_data_ptr<float>();
    auto* bias_gradient = bias_gradient_.mutable_data_ptr<float>();
    const double share = share_of_a_pixel();
    for (std::size_t c = 0; c < channels_; ++c) {
      weight_gradient[c] = static_cast<float>(centered_sum()[c] * share * inverse_deviation(c));
      bias_gradient[c] = static_cast<float>(sum()[c] * share);
    }
    tensors_.gradient("weight") = weight_gradient_;
    tensors_.gradient("bias") = bias_gradient_;
  }

  /// The gradient by the input is a * gradient + b * (input - mean) + c.
  void set_backward_factors() {
    const float* weight = tensors_.value("weight").const_data_ptr<float>();
    const double share = share_of_a_pixel();
    for (std::size_t c = 0; c < channels_; ++c) {
      const double inverse = inverse_deviation(c);
      const double factor = static_cast<double>(weight[c]) * inverse;
      a_[c] = static_cast<float>(factor * share);
      b_[c] = static_cast<float>(-factor * inverse * (centered_sum()[c] * share * inverse) / rows_);
      c_[c] = static_cast<float>(-factor * (sum()[c] * share) / rows_);
    }
  }

  std::size_t channels_;
  bool relu_ = false;
  bool pool_ = false;
  bool folded_ = false;
  const at::Tensor* producer_offset_ = nullptr;
  DeviceReducer* reducer_;  // of the group whose samples together are the batch; nullptr: the member's own
  at::Tensor input_;
  double rows_ = 0;  // rows of the batch
  std::vector<float> mean_;
  std::vector<float> variance_;
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> c_;
  std::vector<double> sums_;  // per channel: sum, centered sum; then the rows
  std::vector<float> one_;    // used when the producer applies scale and shift
  std::vector<float> zero_;
  at::Tensor scale_;
  at::Tensor shift_;
  at::Tensor weight_gradient_;
  at::Tensor bias_gradient_;
};

}  // namespace

std::unique_ptr<LayerOp> make_batch_norm_op(const space::Layer& layer, LayerTensors& tensors,
                                            const DevicePlace& place) {
  if (!place.has_own_kernels()) {
    return make_aten_batch_norm_op(layer, tensors, place);
  }
  return std::make_unique<BatchNormOp>(layer, tensors, place);
}

}  // namespace skyline::train
