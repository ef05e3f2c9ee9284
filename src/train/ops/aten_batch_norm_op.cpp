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
#include <ATen/ops/cat.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var_mean.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {
namespace {

constexpr std::array<std::int64_t, 3> kAllButChannels{0, 2, 3};

/// Reshapes [channels] to the channels of a batch.
at::Tensor by_channel(const at::Tensor& values) {
  return values.view({1, -1, 1, 1});
}

/// Batch normalization by ATen's choice of kernels. It takes inputs of either type.
class AtenBatchNormOp final : public BatchNormDefinition {
 public:
  AtenBatchNormOp(const space::Layer& layer, LayerTensors& tensors, const DevicePlace& place)
      : BatchNormDefinition(layer, tensors), place_(place) {}

  void follow(FusedOp& producer) override { producer_offset_ = producer.defer_offset(); }
  at::Tensor infer(const Activations& inputs) override { return reference(inputs, false); }

  at::Tensor forward(const Activations& inputs) override {
    input_ = channels_last(inputs.front());
    if (place_.synchronized != nullptr) return forward_together();
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
    if (place_.synchronized != nullptr) return {backward_together(input, gradient)};
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

  /// Sums two values per channel over the members, as float64: the squares of members' means may be large
  /// beside the variance. One operation of the group, also on a member without samples.
  void add_up(at::Tensor& first, at::Tensor& second) {
    at::Tensor sums = at::cat({first, second}).to(at::kDouble);
    place_.synchronized->reducer->all_reduce(sums);
    place_.synchronized->reducer->join();
    const std::int64_t channels = first.numel();
    first = sums.narrow(0, 0, channels);
    second = sums.narrow(0, channels, channels);
  }

  at::Tensor forward_together() {
    rows_ = static_cast<double>(place_.batch * input_.size(2) * input_.size(3));
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
    set_gradients(products.mul(inverse), sum);
    add_up(sum, products);
    const at::Tensor tilt = products.to(at::kFloat).mul(inverse.square()).div(rows_);
    return slope.sub(by_channel(sum.to(at::kFloat).div(rows_)))
        .sub_(deviations.mul_(by_channel(tilt)))
        .mul_(by_channel(inverse.mul(weight())))
        .to(input.scalar_type());
  }

  const DevicePlace& place_;
  const at::Tensor* producer_offset_ = nullptr;
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
