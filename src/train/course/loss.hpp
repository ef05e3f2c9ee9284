#pragma once

#include "train/device/accelerator.hpp"

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// The cross-entropy of a part of a batch. The members' whole batch has the mean loss.
struct PartLoss {
  at::Tensor share;     // []: the part's share of that loss; float64 for kernels of our own, else float32
  at::Tensor gradient;  // of that loss by the network's output
};

/// kernels::Targets and kernels::TargetRule, on the device.
struct LossTargets {
  at::Tensor labels;       // int64 [samples]
  at::Tensor others = {};  // int64 [samples]; undefined: nothing was mixed
  at::Tensor shares = {};  // float32 [samples]
};
struct LossRule {
  double smoothing = 0;
  at::Tensor weights = {};  // float32 [classes]; undefined: all 1
};

/// The loss of an output, [samples, classes, 1, 1]; of a part without samples too.
/// @param batch  samples of all members
PartLoss cross_entropy(const at::Tensor& output, const LossTargets& targets, const LossRule& rule,
                       std::int64_t batch, Kernels kernels);

/// Scores logits, float32 [samples, classes]. @param result  out: float64 [2], the sum of the losses and the
/// number of samples whose largest logit is at their label
void score_logits(const at::Tensor& logits, const at::Tensor& targets, Kernels kernels, at::Tensor& result);

}  // namespace skyline::train
