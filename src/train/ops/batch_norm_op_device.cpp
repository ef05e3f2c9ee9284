#include "train/kernels/batch_norm_plan.hpp"
#include "train/ops/batch_norm_op.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include <ATen/ops/_batch_norm_impl_index.h>
#include <ATen/ops/_batch_norm_impl_index_backward.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/threshold_backward.h>
#include <ATen/ops/var_mean.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {
namespace {

constexpr std::array<std::int64_t, 3> kAllButChannels{0, 2, 3};

/// Reshapes [channels] to the channels of a batch.
at::Tensor by_channel(const at::Tensor& values) {
  return values.view({1, -1, 1, 1});
}

/// Batch normalization on a device: activations in planes by the device's kernels, which take the ReLU after
/// it along; others, of either type, with the kernels that ATen chooses.
class DeviceBatchNormOp final : public BatchNormDefinition {
 public:
  using BatchNormDefinition::BatchNormDefinition;

  bool absorb(const space::Layer& next) override {
    if (next.kind != "relu" || relu_ || !is_in_planes()) return false;
    relu_ = true;
    return true;
  }

  at::Tensor infer(const Activations& inputs) override {
    at::Tensor output = reference(inputs, false);
    return relu_ ? output.relu_() : output;
  }

  at::Tensor forward(const Activations& inputs) override {
    input_ = place_.arranged(inputs.front());
    const std::int64_t samples = place_.synchronized == nullptr ? input_.size(0) : place_.batch;
    rows_ = static_cast<double>(std::max<std::int64_t>(samples * input_.size(2) * input_.size(3), 1));
    if (is_in_planes() && !by_sums()) return forward_in_planes();
    at::Tensor output;
    if (by_sums()) {
      output = forward_by_sums();
      if (relu_) output_ = output.relu_();
    } else {
      std::tie(output, mean_, spread_, reserve_, kernel_) = at::_batch_norm_impl_index(
          input_, weight(), bias(), running_mean(), running_variance(), true, momentum_, epsilon_, true);
    }
    if (producer_offset_ != nullptr) running_mean().add_(*producer_offset_, momentum_);
    return output;
  }

  Activations backward(at::Tensor gradient, bool wants_input_gradient) override {
    gradient = place_.arranged(gradient);
    const at::Tensor input = std::exchange(input_, {});
    if (by_sums()) {
      if (relu_) gradient = at::threshold_backward(gradient, std::exchange(output_, {}), 0);
      return {backward_by_sums(input, gradient)};
    }
    if (is_in_planes()) return {backward_in_planes(input, gradient)};
    auto [input_gradient, by_weight, by_bias] = at::_batch_norm_impl_index_backward(
        kernel_, input, gradient, weight(), running_mean(), running_variance(), std::exchange(mean_, {}),
        std::exchange(spread_, {}), true, epsilon_, {wants_input_gradient, true, true},
        std::exchange(reserve_, {}));
    set_gradients(by_weight, by_bias);
    return {input_gradient};
  }

 private:
  bool is_in_planes() const {
    return place_.order == at::MemoryFormat::Contiguous && place_.synchronized == nullptr;
  }

  kernels::BatchNormPlan plan_of(const at::Tensor& input) {
    kernels::BatchNormPlan plan{.samples = input.size(0),
                                .channels = input.size(1),
                                .pixels = input.size(2) * input.size(3),
                                .relu = relu_,
                                .momentum = static_cast<float>(momentum_),
                                .epsilon = static_cast<float>(epsilon_),
                                .input = input.const_data_ptr<float>(),
                                .weight = weight().const_data_ptr<float>(),
                                .bias = bias().const_data_ptr<float>(),
                                .mean = mean_.mutable_data_ptr<float>(),
                                .inverse_deviation = spread_.mutable_data_ptr<float>()};
    if (plan.splits() > 1) {
      scratch_ = at::empty({2 * plan.splits() * plan.channels}, input.options());
      plan.partial_sums = scratch_.mutable_data_ptr<float>();
    }
    return plan;
  }

  at::Tensor forward_in_planes() {
    mean_ = at::empty_like(weight());
    spread_ = at::empty_like(weight());
    at::Tensor output = at::empty_like(input_);
    kernels::BatchNormPlan plan = plan_of(input_);
    if (producer_offset_ != nullptr) plan.offset = producer_offset_->const_data_ptr<float>();
    plan.running_mean = running_mean().mutable_data_ptr<float>();
    plan.running_variance = running_variance().mutable_data_ptr<float>();
    plan.output = output.mutable_data_ptr<float>();
    place_.accelerator->batch_norm_forward(plan);
    scratch_.reset();
    return output;
  }

  at::Tensor backward_in_planes(const at::Tensor& input, const at::Tensor& gradient) {
    const at::Tensor by_weight = at::empty_like(weight());
    const at::Tensor by_bias = at::empty_like(weight());
    kernels::BatchNormPlan plan = plan_of(input);
    plan.gradient = gradient.const_data_ptr<float>();
    plan.input_gradient = gradient.mutable_data_ptr<float>();
    plan.weight_gradient = by_weight.mutable_data_ptr<float>();
    plan.bias_gradient = by_bias.mutable_data_ptr<float>();
    place_.accelerator->batch_norm_backward(plan);
    set_gradients(by_weight, by_bias);
    mean_.reset();
    spread_.reset();
    scratch_.reset();
    return gradient;
  }

  /// Returns whether ATen's kernels cannot be used: for statistics of all members, and for fewer than two
  /// rows, for which ATen's variance is NaN.
  bool by_sums() const { return place_.synchronized != nullptr || rows_ < 2; }

  /// Sums two values per channel over the members. They are float64, since the squares of members' means may
  /// be large compared with the variance. It is one operation of the group, also on a member without samples.
  void add_up(at::Tensor& first, at::Tensor& second) const {
    if (place_.synchronized == nullptr) return;
    at::Tensor sums = at::cat({first, second}).to(at::kDouble);
    place_.synchronized->reducer->all_reduce(sums);
    place_.synchronized->reducer->join();
    const std::int64_t channels = first.numel();
    first = sums.narrow(0, 0, channels);
    second = sums.narrow(0, channels, channels);
  }

  at::Tensor forward_by_sums() {
    at::Tensor sum = at::zeros_like(weight(), at::kDouble);
    at::Tensor squares = sum;
    if (input_.numel() > 0) {
      const auto own_rows = static_cast<double>(row_count(input_));
      const auto [variance, mean] =
          at::var_mean(input_.to(at::kFloat), kAllButChannels, std::optional<at::Scalar>(0));
      sum = mean.to(at::kDouble);
      squares = variance.add(sum.square()).mul(own_rows);
      sum = sum.mul(own_rows);
    }
    add_up(sum, squares);
    const at::Tensor mean = sum.div(rows_);
    mean_ = mean.to(at::kFloat);
    spread_ = squares.div(rows_).sub(mean.square()).clamp_min(0).to(at::kFloat);
    running_mean().mul_(1 - momentum_).add_(mean_, momentum_);
    if (rows_ > 1) running_variance().mul_(1 - momentum_).add_(spread_, momentum_ * (rows_ / (rows_ - 1)));
    return at::batch_norm(input_, weight(), bias(), mean_, spread_, false, 0, epsilon_, true);
  }

  at::Tensor backward_by_sums(const at::Tensor& input, const at::Tensor& gradient) {
    const at::Tensor inverse = at::rsqrt(std::exchange(spread_, {}).add(epsilon_));
    const at::Tensor slope = gradient.to(at::kFloat);
    at::Tensor deviations = input.to(at::kFloat).sub(by_channel(std::exchange(mean_, {})));
    at::Tensor sum = slope.sum(kAllButChannels);
    at::Tensor products = slope.mul(deviations).sum(kAllButChannels);
    set_gradients(products.mul(inverse), sum);
    add_up(sum, products);
    const at::Tensor tilt = products.to(at::kFloat).mul(inverse.square()).div(rows_);
    return slope.sub(by_channel(sum.to(at::kFloat).div(rows_)))
        .sub_(deviations.mul_(by_channel(tilt)))
        .mul_(by_channel(inverse.mul(weight())))
        .to(input.scalar_type());
  }

  bool relu_ = false;        // whether the op does the ReLU after it
  std::int64_t kernel_ = 0;  // the kernel that ATen chose
  at::Tensor scratch_;
  // Kept from forward to backward:
  at::Tensor mean_;
  at::Tensor spread_;  // variance of all members' samples, or what the kernel keeps
  at::Tensor reserve_;
  at::Tensor output_;  // output of the ReLU, if the variance is computed by sums
};

}  // namespace

std::unique_ptr<LayerOp> make_device_batch_norm_op(const space::Layer& layer, LayerTensors& tensors,
                                                   const DevicePlace& place) {
  return std::make_unique<DeviceBatchNormOp>(layer, tensors, place);
}

}  // namespace skyline::train
