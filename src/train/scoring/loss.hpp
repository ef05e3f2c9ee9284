#pragma once

#include "skyline/train/loss.hpp"

#include "train/kernels/values.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// The loss of a part of a batch. The members' whole batch has the mean loss.
struct PartLoss {
  at::Tensor share;     // []: the part's share of that loss; float64 for kernels of our own, else float32
  at::Tensor gradient;  // of that loss by the network's output
};

/// What the outputs of a part should be, on the device.
struct LossTargets {
  at::Tensor wanted;       // int64 [samples] or float32 [samples, outputs]
  at::Tensor others = {};  // int64 [samples], classes that were mixed in; undefined: none were
  at::Tensor shares = {};  // float32 [samples], of `wanted`
};

/// A loss with passes written by hand, for speed; its definition is the oracle of their tests.
class FusedLoss : public Loss {
 public:
  /// @param output  float32 [samples, outputs, 1, 1]; of a part without samples too
  /// @param batch   samples of all members
  virtual PartLoss part(const at::Tensor& output, const LossTargets& targets, std::int64_t batch,
                        Kernels kernels) const = 0;
  /// See score_loss.
  virtual void score(const at::Tensor& outputs, const at::Tensor& targets, Kernels kernels,
                     at::Tensor& result) const = 0;
  /// Moves what the loss keeps to the device.
  virtual void move_to(const c10::Device& /*device*/) {}
};

/// The loss of a part and its gradient, float32: written by hand, or the definition differentiated by
/// autograd.
/// @param output  float32 or bfloat16 [samples, outputs, 1, 1]
PartLoss loss_of_part(const Loss& loss, const at::Tensor& output, const LossTargets& targets,
                      std::int64_t batch, Kernels kernels);
/// Sums the losses of held-out samples. @param outputs  float32 [samples, outputs]
/// @param result  out: float64 []
void score_loss(const Loss& loss, const at::Tensor& outputs, const at::Tensor& targets, Kernels kernels,
                at::Tensor& result);

/// nullptr if there is none of this name.
const LossKind* find_loss(std::string_view name);
/// The loss of a configuration that names none.
std::string_view default_loss(store::TargetKind targets);

/// Of src/train/scoring.
LossKind cross_entropy_loss();
LossKind binary_cross_entropy_loss();
LossKind mean_squared_loss();
LossKind mean_absolute_loss();

}  // namespace skyline::train
