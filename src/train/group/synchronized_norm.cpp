#include "train/group/synchronized_norm.hpp"

#include <array>
#include <optional>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var_mean.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {
namespace {

constexpr std::int64_t kLine = 16;  // floats; parts of values begin at multiples of it
constexpr std::array<std::int64_t, 3> kAllButChannels{0, 2, 3};

/// Reshapes [channels] to the channels of a batch.
at::Tensor by_channel(const at::Tensor& values) {
  return values.view({1, -1, 1, 1});
}

}  // namespace

SynchronizedNorm::SynchronizedNorm(const space::Layer& layer, StoredLayer& tensors,
                                   const DeviceMembership& membership)
    : tensors_(tensors),
      reducer_(*membership.reducer),
      members_(static_cast<std::int64_t>(membership.members)),
      channels_(layer.input().channels),
      pixels_(layer.input().height * layer.input().width),
      running_mean_(tensors.value("running_mean").variable_data()),
      running_variance_(tensors.value("running_var").variable_data()),
      momentum_(space::as_number(layer.attributes.at("momentum"))),
      epsilon_(space::as_number(layer.attributes.at("epsilon"))) {
  const std::int64_t line = (2 * channels_ + 1 + kLine - 1) / kLine * kLine;
  const auto options = running_mean_.options();
  moments_ = at::zeros({line}, options);
  all_moments_ = at::zeros({members_ * line}, options);
  backward_sums_ = at::zeros({2 * channels_}, options);
}

/// Every member merges the same means and deviations in the same order. Sums of squares would cancel where
/// the mean is large beside the deviation.
void SynchronizedNorm::find_statistics(const at::Tensor& input) {
  at::Tensor mean = moments_.narrow(0, 0, channels_);
  at::Tensor squares = moments_.narrow(0, channels_, channels_);
  at::Tensor count = moments_.narrow(0, 2 * channels_, 1);
  moments_.zero_();
  if (input.defined()) {
    const auto rows = static_cast<double>(input.size(0) * pixels_);
    const auto [own_variance, own_mean] =
        at::var_mean(input.to(at::kFloat), kAllButChannels, std::optional<at::Scalar>(0));
    mean.copy_(own_mean);
    squares.copy_(own_variance.mul(rows));
    count.fill_(rows);
  }
  reducer_.all_gather(moments_, all_moments_);
  reducer_.join();
  const at::Tensor table = all_moments_.view({members_, -1});
  const at::Tensor means = table.narrow(1, 0, channels_);
  const at::Tensor counts = table.narrow(1, 2 * channels_, 1);
  mean_ = means.mul(counts).sum(0).div(rows_);
  const at::Tensor between = means.sub(mean_).square().mul(counts);
  variance_ = table.narrow(1, channels_, channels_).add(between).sum(0).div(rows_);
}

/// Running statistics share memory with parameters, which autograd would consider changed between forward and
/// backward.
void SynchronizedNorm::update_running_statistics() {
  running_mean_.mul_(1 - momentum_).add_(mean_, momentum_);
  if (rows_ > 1) {
    running_variance_.mul_(1 - momentum_).add_(variance_, momentum_ * (rows_ / (rows_ - 1)));
  }
}

at::Tensor SynchronizedNorm::forward(const at::Tensor& input, std::int64_t batch) {
  const at::NoGradGuard no_gradients;
  rows_ = static_cast<double>(batch * pixels_);
  input_ = input;
  find_statistics(input);
  update_running_statistics();
  return input.defined() ? at::batch_norm(input, tensors_.value("weight"), tensors_.value("bias"), mean_,
                                          variance_, false, 0, epsilon_, true)
                         : at::Tensor();
}

at::Tensor SynchronizedNorm::backward(const at::Tensor& gradient, bool wants_input_gradient) {
  const at::NoGradGuard no_gradients;
  const at::Tensor inverse = at::rsqrt(variance_.add(epsilon_));
  at::Tensor output_gradient;
  at::Tensor deviations;
  backward_sums_.zero_();
  at::Tensor sum = backward_sums_.narrow(0, 0, channels_);
  at::Tensor products = backward_sums_.narrow(0, channels_, channels_);
  if (gradient.defined()) {
    output_gradient = gradient.to(at::kFloat);
    deviations = input_.to(at::kFloat).sub(by_channel(mean_));
    sum.copy_(output_gradient.sum(kAllButChannels));
    products.copy_(output_gradient.mul(deviations).sum(kAllButChannels));
    tensors_.value("bias").mutable_grad() = sum.clone();
    tensors_.value("weight").mutable_grad() = products.mul(inverse);
  }
  reducer_.all_reduce(backward_sums_);
  reducer_.join();
  at::Tensor input_gradient;
  if (gradient.defined() && wants_input_gradient) {
    const at::Tensor slope = products.mul(inverse.square()).div(rows_);
    input_gradient = output_gradient.sub(by_channel(sum.div(rows_)))
                         .sub_(deviations.mul_(by_channel(slope)))
                         .mul_(by_channel(inverse.mul(tensors_.value("weight"))))
                         .to(input_.scalar_type());
  }
  // Frees them: in a recording they are scratch memory.
  input_.reset();
  mean_.reset();
  variance_.reset();
  return input_gradient;
}

}  // namespace skyline::train
