#include "train/scoring/loss.hpp"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>

namespace skyline::train {
namespace {

using store::TargetKind;

/// A loss that is the mean over the outputs of a function of output and target.
template <at::Tensor (*kFunction)(const at::Tensor& outputs, const at::Tensor& targets)>
class MeanLoss final : public Loss {
 public:
  MeanLoss(const NoOptions& /*options*/, const LossProblem& /*problem*/) {}
  at::Tensor reference(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return kFunction(outputs, targets).mean(1);
  }
  bool may_be_recorded() const override { return true; }
};

at::Tensor binary_cross_entropy(const at::Tensor& outputs, const at::Tensor& targets) {
  return at::binary_cross_entropy_with_logits(outputs, targets, {}, {}, at::Reduction::None);
}
at::Tensor squared_error(const at::Tensor& outputs, const at::Tensor& targets) {
  return at::mse_loss(outputs, targets, at::Reduction::None);
}
at::Tensor absolute_error(const at::Tensor& outputs, const at::Tensor& targets) {
  return at::l1_loss(outputs, targets, at::Reduction::None);
}

}  // namespace

LossKind binary_cross_entropy_loss() {
  return make_loss<MeanLoss<binary_cross_entropy>>(
      "binary_cross_entropy", "Cross-entropy of each label by itself.", {TargetKind::kLabels});
}

LossKind mean_squared_loss() {
  return make_loss<MeanLoss<squared_error>>("mse", "Squared error.", {TargetKind::kNumbers});
}

LossKind mean_absolute_loss() {
  return make_loss<MeanLoss<absolute_error>>("mae", "Absolute error.", {TargetKind::kNumbers});
}

}  // namespace skyline::train
