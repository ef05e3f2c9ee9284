#include "train/kernels/cross_entropy.hpp"
#include "train/kernels/device_kernels.hpp"
#include "train/learner/loss.hpp"

#include <algorithm>
#include <cstddef>

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {
namespace {

struct LossRule {
  double smoothing = 0;
  at::Tensor weights = {};  // float32 [classes]; undefined if all are 1
};

template <typename T>
const T* values_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<T>() : nullptr;
}

kernels::Targets memory_of(const LossTargets& targets) {
  return {targets.wanted.const_data_ptr<std::int64_t>(), values_of<std::int64_t>(targets.others),
          values_of<float>(targets.shares)};
}
kernels::TargetRule memory_of(const LossRule& rule) {
  return {rule.smoothing, values_of<float>(rule.weights)};
}

/// @param gradient  nullptr if it is not needed
double score_on_host(const at::Tensor& logits, const LossTargets& targets, const LossRule& rule,
                     float* gradient, std::int64_t batch) {
  return kernels::cross_entropy(logits.const_data_ptr<float>(), memory_of(targets), memory_of(rule),
                                static_cast<std::size_t>(logits.size(0)),
                                static_cast<std::size_t>(logits.size(1)), gradient,
                                static_cast<std::size_t>(batch));
}

/// Returns the class probabilities that samples should have, [samples, classes].
at::Tensor wanted_on_device(const LossTargets& targets, const LossRule& rule, const at::Tensor& like) {
  const auto hot = [&](const at::Tensor& labels, const at::Tensor& shares) {
    return at::zeros_like(like).scatter_(1, labels.unsqueeze(1), shares.unsqueeze(1));
  };
  const bool mixed = targets.others.defined();
  const at::Tensor shares = mixed ? targets.shares : at::ones({like.size(0)}, like.options());
  at::Tensor wanted = hot(targets.wanted, shares);
  if (mixed) wanted.add_(hot(targets.others, shares.mul(-1).add(1)));
  wanted.mul_(1 - rule.smoothing).add_(rule.smoothing / static_cast<double>(like.size(1)));
  return rule.weights.defined() ? wanted.mul_(rule.weights) : wanted;
}

/// Returns weights that give all classes with samples the same total weight, and a sample 1 on average.
at::Tensor balanced_weights(const LossProblem& problem) {
  const auto present = std::ranges::count_if(problem.counts, [](std::size_t count) { return count > 0; });
  const double equal = static_cast<double>(problem.samples) / static_cast<double>(present);
  std::vector<float> weights;
  for (const std::size_t count : problem.counts) {
    weights.push_back(count == 0 ? 0.0F : static_cast<float>(equal / static_cast<double>(count)));
  }
  return at::tensor(weights);
}

class CrossEntropy final : public FusedLoss {
 public:
  CrossEntropy(const CrossEntropyOptions& options, const LossProblem& problem)
      : rule_{options.label_smoothing} {
    if (options.class_weights == CrossEntropyOptions::ClassWeights::kBalanced) {
      rule_.weights = balanced_weights(problem);
    }
  }

  at::Tensor reference(const at::Tensor& outputs, const at::Tensor& targets) const override {
    const at::Tensor log_shares = at::log_softmax(outputs, 1);
    return wanted_on_device({targets}, rule_, log_shares).mul(log_shares).sum(1).neg();
  }
  bool may_be_recorded() const override { return true; }
  void move_to(const c10::Device& device) override {
    if (rule_.weights.defined()) rule_.weights = rule_.weights.to(device);
  }

  PartLoss part(const at::Tensor& output, const LossTargets& targets, std::int64_t batch,
                kernels::DeviceKernels& device) const override {
    const at::Tensor logits = output.contiguous();
    if (device.kernels() == Kernels::kAten) {
      const PartLoss loss{at::empty({}, logits.options()), at::empty_like(logits)};
      device.cross_entropy({.logits = logits.const_data_ptr<float>(),
                            .targets = memory_of(targets),
                            .rule = memory_of(rule_),
                            .samples = logits.size(0),
                            .classes = logits.numel() / std::max<std::int64_t>(logits.size(0), 1),
                            .batch = batch,
                            .share = loss.share.mutable_data_ptr<float>(),
                            .gradient = loss.gradient.mutable_data_ptr<float>()});
      return loss;
    }
    PartLoss loss{at::empty({}, at::kDouble), at::empty_like(logits)};
    const double sum = score_on_host(logits, targets, rule_, loss.gradient.mutable_data_ptr<float>(), batch);
    *loss.share.mutable_data_ptr<double>() = sum / static_cast<double>(batch);
    return loss;
  }

  /// Scores without smoothing and weights.
  void score(const at::Tensor& outputs, const at::Tensor& targets, Kernels kernels,
             at::Tensor& result) const override {
    if (kernels == Kernels::kAten) {
      result.copy_(at::cross_entropy_loss(outputs.to(at::kDouble), targets, {}, at::Reduction::Sum));
      return;
    }
    *result.mutable_data_ptr<double>() =
        score_on_host(outputs.contiguous(), {targets}, {}, nullptr, outputs.size(0));
  }

 private:
  LossRule rule_;
};

}  // namespace

std::unique_ptr<Loss> cross_entropy_loss(const CrossEntropyOptions& options, const LossProblem& problem) {
  return std::make_unique<CrossEntropy>(options, problem);
}

}  // namespace skyline::train
