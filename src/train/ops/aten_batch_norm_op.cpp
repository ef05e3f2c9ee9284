#include "train/device/device_place.hpp"
#include "train/ops/batch_norm_definition.hpp"
#include "train/ops/built_in_ops.hpp"

#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_batch_norm_impl_index.h>
#include <ATen/ops/_batch_norm_impl_index_backward.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var_mean.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {
namespace {

constexpr std::int64_t kLine = 16;  // floats; parts of values begin at multiples of it
constexpr std::array<std::int64_t, 3> kAllButChannels{0, 2, 3};

/// Reshapes [channels] to the channels of a batch.
at::Tensor by_channel(const at::Tensor& values) {
  return values.view({1, -1, 1, 1});
}

/// The sums of synchronized batch statistics over the members, float32: two operations of the group per
/// step, one forward and one backward, also on a member without samples.
class SynchronizedStatistics {
 public:
  SynchronizedStatistics(const GroupMembership& membership, const at::Tensor& like)
      : reducer_(*membership.reducer),
        members_(static_cast<std::int64_t>(membership.members)),
        channels_(like.numel()) {
    const std::int64_t line = (2 * channels_ + 1 + kLine - 1) / kLine * kLine;
    moments_ = at::zeros({line}, like.options());
    all_moments_ = at::zeros({members_ * line}, like.options());
    sums_ = at::zeros({2 * channels_}, like.options());
  }

  /// Mean and variance over the members' `rows`. Every member merges the same means and deviations in the
  /// same order. Sums of squares would cancel where the mean is large beside the deviation.
  std::pair<at::Tensor, at::Tensor> find(const at::Tensor& input, double rows) {
    moments_.zero_();
    if (input.numel() > 0) {
      const double own_rows = static_cast<double>(input.numel()) / static_cast<double>(channels_);
      const auto [variance, mean] =
          at::var_mean(input.to(at::kFloat), kAllButChannels, std::optional<at::Scalar>(0));
      moments_.narrow(0, 0, channels_).copy_(mean);
      moments_.narrow(0, channels_, channels_).copy_(variance.mul(own_rows));
      moments_.narrow(0, 2 * channels_, 1).fill_(own_rows);
    }
    reducer_.all_gather(moments_, all_moments_);
    reducer_.join();
    const at::Tensor table = all_moments_.view({members_, -1});
    const at::Tensor means = table.narrow(1, 0, channels_);
    const at::Tensor counts = table.narrow(1, 2 * channels_, 1);
    const at::Tensor mean = means.mul(counts).sum(0).div(rows);
    const at::Tensor between = means.sub(mean).square().mul(counts);
    return {mean, table.narrow(1, channels_, channels_).add(between).sum(0).div(rows)};
  }

  /// Sums two values per channel over the members, in place.
  void add_up(at::Tensor& first, at::Tensor& second) {
    sums_.narrow(0, 0, channels_).copy_(first);
    sums_.narrow(0, channels_, channels_).copy_(second);
    reducer_.all_reduce(sums_);
    reducer_.join();
    first = sums_.narrow(0, 0, channels_);
    second = sums_.narrow(0, channels_, channels_);
  }

 private:
  DeviceReducer& reducer_;
  std::int64_t members_;
  std::int64_t channels_;
  at::Tensor moments_;      // [line]: mean, sum of squared deviations, count; the rest is padding
  at::Tensor all_moments_;  // [members x line]
  at::Tensor sums_;
};

/// Batch normalization by ATen's choice of kernels. It takes inputs of either type.
class AtenBatchNormOp final : public BatchNormDefinition {
 public:
  AtenBatchNormOp(const space::Layer& layer, LayerTensors& tensors, const DevicePlace& place)
      : BatchNormDefinition(layer, tensors), place_(place) {
    if (place.synchronized != nullptr) statistics_.emplace(*place.synchronized, weight());
  }

  void follow(FusedOp& producer) override { producer_offset_ = producer.defer_offset(); }
  at::Tensor infer(const Activations& inputs) override { return reference(inputs, false); }

  at::Tensor forward(const Activations& inputs) override {
    input_ = channels_last(inputs.front());
    if (statistics_) return forward_together();
    const std::int64_t rows = static_cast<std::int64_t>(row_count(input_));
    if (rows == 0) return input_;
    const bool has_variance = rows > 1;  // else ATen's would be NaN, and the running one stays
    const auto running = [&](at::Tensor& values) {
      return has_variance ? std::optional<at::Tensor>(values) : std::nullopt;
    };
    std::int64_t choice = 0;
    at::Tensor output;
    std::tie(output, mean_, spread_, reserve_, choice) =
        at::_batch_norm_impl_index(input_, weight(), bias(), running(running_mean()),
                                   running(running_variance()), true, momentum_, epsilon_, true);
    kernel_ = choice;
    if (!has_variance) blend_single_row(input_);
    add_producer_offset();
    return output;
  }

  Activations backward(at::Tensor gradient, bool wants_input_gradient) override {
    gradient = channels_last(gradient);
    const at::Tensor input = std::exchange(input_, {});
    if (statistics_) return {backward_together(input, gradient)};
    if (input.numel() == 0) {
      set_gradients(at::zeros_like(weight()), at::zeros_like(bias()));
      return {gradient};
    }
    auto [input_gradient, weight_gradient, bias_gradient] = at::_batch_norm_impl_index_backward(
        kernel_, input, gradient, weight(), running_mean(), running_variance(), std::exchange(mean_, {}),
        std::exchange(spread_, {}), true, epsilon_, {wants_input_gradient, true, true},
        std::exchange(reserve_, {}));
    set_gradients(weight_gradient, bias_gradient);
    return {input_gradient};
  }

 private:
  void set_gradients(const at::Tensor& weight_gradient, const at::Tensor& bias_gradient) {
    tensors_.gradient("weight") = weight_gradient;
    tensors_.gradient("bias") = bias_gradient;
  }

  /// The offset that the producer left out changes only the mean.
  void add_producer_offset() {
    if (producer_offset_ != nullptr) running_mean().add_(*producer_offset_, momentum_);
  }

  at::Tensor forward_together() {
    rows_ = static_cast<double>(place_.batch * input_.size(2) * input_.size(3));
    std::tie(mean_, spread_) = statistics_->find(input_, rows_);
    running_mean().mul_(1 - momentum_).add_(mean_, momentum_);
    if (rows_ > 1) {
      running_variance().mul_(1 - momentum_).add_(spread_, momentum_ * (rows_ / (rows_ - 1)));
    }
    add_producer_offset();
    return at::batch_norm(input_, weight(), bias(), mean_, spread_, false, 0, epsilon_, true);
  }

  at::Tensor backward_together(const at::Tensor& input, const at::Tensor& gradient) {
    const at::Tensor inverse = at::rsqrt(std::exchange(spread_, {}).add(epsilon_));
    const at::Tensor slope = gradient.to(at::kFloat);
    at::Tensor deviations = input.to(at::kFloat).sub(by_channel(std::exchange(mean_, {})));
    at::Tensor sum = slope.sum(kAllButChannels);
    at::Tensor products = slope.mul(deviations).sum(kAllButChannels);
    set_gradients(products.mul(inverse), sum.clone());
    statistics_->add_up(sum, products);
    const at::Tensor tilt = products.mul(inverse.square()).div(rows_);
    return slope.sub(by_channel(sum.div(rows_)))
        .sub_(deviations.mul_(by_channel(tilt)))
        .mul_(by_channel(inverse.mul(weight())))
        .to(input.scalar_type());
  }

  const DevicePlace& place_;
  const at::Tensor* producer_offset_ = nullptr;
  std::optional<SynchronizedStatistics> statistics_;
  double rows_ = 0;  // of all members
  std::int64_t kernel_ = 0;
  // Kept from forward to backward:
  at::Tensor input_;
  at::Tensor mean_;
  at::Tensor spread_;  // variance of all members' samples, or what ATen's kernel keeps
  at::Tensor reserve_;
};

}  // namespace

std::unique_ptr<LayerOp> make_aten_batch_norm_op(const space::Layer& layer, LayerTensors& tensors,
                                                 const DevicePlace& place) {
  return std::make_unique<AtenBatchNormOp>(layer, tensors, place);
}

}  // namespace skyline::train
