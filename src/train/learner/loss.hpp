#pragma once

#include "skyline/train/loss.hpp"

#include "train/kernels/device_kernels.hpp"
#include "train/options/training_options.hpp"
#include "train/scoring/loss_kinds.hpp"

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// The loss of a part of a batch; the loss of the whole batch is the mean over all members' samples.
struct PartLoss {
  at::Tensor share;  // []: the part's share of the batch's loss; float64 for kernels of our own, else float32
  at::Tensor gradient;  // gradient of the batch's loss by the network's output
};

/// The targets of a part of a batch, on the device.
struct LossTargets {
  at::Tensor wanted;       // int64 [samples] or float32 [samples, outputs]
  at::Tensor others = {};  // int64 [samples], mixed-in classes; undefined if nothing was mixed
  at::Tensor shares = {};  // float32 [samples], shares of `wanted`
  at::Tensor taught = {};  // float32 [samples, outputs], targets of a teacher; undefined without one
};

/// A loss with hand-written passes, for speed; its definition serves as the oracle of their tests.
class FusedLoss : public Loss {
 public:
  /// Returns the loss of a part, which may have no samples.
  /// @param output  float32 [samples, outputs, 1, 1]
  /// @param batch   number of samples of all members
  virtual PartLoss part(const at::Tensor& output, const LossTargets& targets, std::int64_t batch,
                        kernels::DeviceKernels& device) const = 0;
  /// Does the work of score_loss.
  virtual void score(const at::Tensor& outputs, const at::Tensor& targets, Kernels kernels,
                     at::Tensor& result) const = 0;
  /// Moves the loss's own tensors to the device.
  virtual void move_to(const c10::Device& /*device*/) {}
};

/// Returns the loss of a part and its gradient, float32: hand-written or by autograd.
/// @param output  float32 or bfloat16 [samples, outputs, 1, 1]
PartLoss loss_of_part(const Loss& loss, const at::Tensor& output, const LossTargets& targets,
                      std::int64_t batch, kernels::DeviceKernels& device);
/// Sums the losses of held-out samples.
/// @param outputs  float32 [samples, outputs]
/// @param result   out: float64 []
void score_loss(const Loss& loss, const at::Tensor& outputs, const at::Tensor& targets, Kernels kernels,
                at::Tensor& result);

/// Makes the loss that the options name, or the one of their targets; with a teacher's distance if there is
/// one.
std::unique_ptr<Loss> loss_of(const TrainingOptions& options);
std::unique_ptr<Loss> cross_entropy_loss(const CrossEntropyOptions& options, const LossProblem& problem);

}  // namespace skyline::train
