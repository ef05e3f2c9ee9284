#include "train/course/loss.hpp"

#include "train/kernels/cross_entropy.hpp"

#include <cstddef>

#include <ATen/core/Reduction.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {
namespace {

constexpr std::int64_t kNoTarget = -100;  // of ATen's loss: a class to leave out

template <typename T>
const T* values_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<T>() : nullptr;
}

/// @param gradient  nullptr: not wanted
kernels::BatchScore score_on_host(const at::Tensor& logits, const LossTargets& targets, const LossRule& rule,
                                  float* gradient, std::int64_t batch) {
  return kernels::cross_entropy(
      logits.const_data_ptr<float>(),
      {targets.labels.const_data_ptr<std::int64_t>(), values_of<std::int64_t>(targets.others),
       values_of<float>(targets.shares)},
      {rule.smoothing, values_of<float>(rule.weights)}, static_cast<std::size_t>(logits.size(0)),
      static_cast<std::size_t>(logits.size(1)), gradient, static_cast<std::size_t>(batch));
}

/// The class probabilities that samples should have, [samples, classes].
at::Tensor wanted_on_device(const LossTargets& targets, const LossRule& rule, const at::Tensor& like) {
  const auto hot = [&](const at::Tensor& labels, const at::Tensor& shares) {
    return at::zeros_like(like).scatter_(1, labels.unsqueeze(1), shares.unsqueeze(1));
  };
  const bool mixed = targets.others.defined();
  const at::Tensor shares = mixed ? targets.shares : at::ones({like.size(0)}, like.options());
  at::Tensor wanted = hot(targets.labels, shares);
  if (mixed) wanted.add_(hot(targets.others, shares.mul(-1).add(1)));
  wanted.mul_(1 - rule.smoothing).add_(rule.smoothing / static_cast<double>(like.size(1)));
  return rule.weights.defined() ? wanted.mul_(rule.weights) : wanted;
}

PartLoss soft_cross_entropy_on_device(const at::Tensor& output, const LossTargets& targets,
                                      const LossRule& rule, std::int64_t batch) {
  const at::Tensor log_shares = at::log_softmax(output.flatten(1).to(at::kFloat), 1);
  const at::Tensor wanted = wanted_on_device(targets, rule, log_shares).div_(static_cast<double>(batch));
  const at::Tensor gradient = log_shares.exp().mul_(wanted.sum(1, true)).sub_(wanted);
  return {wanted.mul(log_shares).sum().neg(), gradient.view(output.sizes())};
}

PartLoss cross_entropy_on_device(const at::Tensor& output, const at::Tensor& targets, std::int64_t batch) {
  const at::Tensor log_shares = at::log_softmax(output.flatten(1).to(at::kFloat), 1);
  const auto [sum, weight] = at::nll_loss_forward(log_shares, targets, {}, at::Reduction::Sum, kNoTarget);
  const at::Tensor each = at::full({}, 1.0 / static_cast<double>(batch), log_shares.options());
  const at::Tensor slope =
      at::nll_loss_backward(each, log_shares, targets, {}, at::Reduction::Sum, kNoTarget, weight);
  return {sum.mul(each),
          at::_log_softmax_backward_data(slope, log_shares, 1, at::kFloat).view(output.sizes())};
}

}  // namespace

PartLoss cross_entropy(const at::Tensor& output, const LossTargets& targets, const LossRule& rule,
                       std::int64_t batch, Kernels kernels) {
  if (kernels == Kernels::kAten) {
    const bool plain = !targets.others.defined() && rule.smoothing == 0 && !rule.weights.defined();
    return plain ? cross_entropy_on_device(output, targets.labels, batch)
                 : soft_cross_entropy_on_device(output, targets, rule, batch);
  }
  const at::Tensor logits = output.contiguous();
  PartLoss loss{at::empty({}, at::kDouble), at::empty_like(logits)};
  const kernels::BatchScore score =
      score_on_host(logits, targets, rule, loss.gradient.mutable_data_ptr<float>(), batch);
  *loss.share.mutable_data_ptr<double>() = score.loss_sum / static_cast<double>(batch);
  return loss;
}

void score_logits(const at::Tensor& logits, const at::Tensor& targets, Kernels kernels, at::Tensor& result) {
  if (kernels == Kernels::kAten) {
    const at::Tensor loss = at::cross_entropy_loss(logits.to(at::kDouble), targets, {}, at::Reduction::Sum);
    const at::Tensor correct = at::argmax(logits, 1).eq(targets).sum();
    result.copy_(at::stack({loss, correct.to(at::kDouble)}));
    return;
  }
  const kernels::BatchScore score =
      score_on_host(logits.contiguous(), {targets}, {}, nullptr, logits.size(0));
  auto* values = result.mutable_data_ptr<double>();
  values[0] = score.loss_sum;
  values[1] = static_cast<double>(score.correct);
}

}  // namespace skyline::train
