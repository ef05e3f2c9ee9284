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
#include <ATen/ops/stack.h>

namespace skyline::train {
namespace {

constexpr std::int64_t kNoTarget = -100;  // of ATen's loss: a class to leave out

/// @param gradient  nullptr: not wanted
kernels::BatchScore score_on_host(const at::Tensor& logits, const at::Tensor& targets, float* gradient,
                                  std::int64_t batch) {
  return kernels::cross_entropy(logits.const_data_ptr<float>(), targets.const_data_ptr<std::int64_t>(),
                                static_cast<std::size_t>(logits.size(0)),
                                static_cast<std::size_t>(logits.size(1)), gradient,
                                static_cast<std::size_t>(batch));
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

PartLoss cross_entropy(const at::Tensor& output, const at::Tensor& targets, std::int64_t batch,
                       Kernels kernels) {
  if (kernels == Kernels::kAten) {
    return cross_entropy_on_device(output, targets, batch);
  }
  const at::Tensor logits = output.contiguous();
  PartLoss loss{at::empty({}, at::kDouble), at::empty_like(logits)};
  const kernels::BatchScore score =
      score_on_host(logits, targets, loss.gradient.mutable_data_ptr<float>(), batch);
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
  const kernels::BatchScore score = score_on_host(logits.contiguous(), targets, nullptr, logits.size(0));
  auto* values = result.mutable_data_ptr<double>();
  values[0] = score.loss_sum;
  values[1] = static_cast<double>(score.correct);
}

}  // namespace skyline::train
