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

/// The loss of an output, [samples, classes, 1, 1]; of a part without samples too.
/// @param targets  int64 [samples]
/// @param batch    samples of all members
PartLoss cross_entropy(const at::Tensor& output, const at::Tensor& targets, std::int64_t batch,
                       Kernels kernels);

/// Scores logits, float32 [samples, classes]. @param result  out: float64 [2], the sum of the losses and the
/// number of samples whose largest logit is at their label
void score_logits(const at::Tensor& logits, const at::Tensor& targets, Kernels kernels, at::Tensor& result);

}  // namespace skyline::train
