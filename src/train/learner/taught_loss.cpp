#include "train/learner/taught_loss.hpp"

#include "skyline/core/error.hpp"

#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/special_xlogy.h>

namespace skyline::train {
namespace {

class TaughtLoss final : public FusedLoss {
 public:
  TaughtLoss(std::unique_ptr<Loss> loss, const TeacherOptions& options, store::TargetKind targets)
      : loss_(std::move(loss)), options_(options), targets_(targets) {}

  at::Tensor reference(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return loss_->reference(outputs, targets);
  }
  bool may_be_recorded() const override { return loss_->may_be_recorded(); }
  void move_to(const c10::Device& device) override {
    if (auto* fused = dynamic_cast<FusedLoss*>(loss_.get())) fused->move_to(device);
  }
  void score(const at::Tensor& outputs, const at::Tensor& targets, Kernels kernels,
             at::Tensor& result) const override {
    score_loss(*loss_, outputs, targets, kernels, result);
  }

  PartLoss part(const at::Tensor& output, const LossTargets& targets, std::int64_t batch,
                kernels::DeviceKernels& device) const override {
    PartLoss loss = loss_of_part(*loss_, output, targets, batch, device);
    if (!targets.taught.defined()) return loss;
    const Distance teacher = distance(output.flatten(1), targets.taught);
    const double share = options_.weight / static_cast<double>(batch);
    loss.share.mul_(1 - options_.weight).add_(teacher.each.sum(loss.share.scalar_type()), share);
    loss.gradient =
        loss.gradient.mul(1 - options_.weight).add(teacher.gradient.view_as(loss.gradient), share);
    return loss;
  }

 private:
  /// The distance of outputs from the teacher's, and its gradient by each.
  struct Distance {
    at::Tensor each;      // sums to the distance
    at::Tensor gradient;  // [samples, outputs]
  };

  /// The gradient of KL(p || softmax(z / T)) by z is (softmax(z / T) - p) / T; with the sigmoid alike.
  Distance distance(const at::Tensor& outputs, const at::Tensor& taught) const {
    const double heat = options_.temperature;
    const auto size = static_cast<double>(outputs.size(1));
    switch (targets_) {
      case store::TargetKind::kClasses: {
        const at::Tensor logs = at::log_softmax(outputs / heat, 1);
        return {(at::special_xlogy(taught, taught) - taught * logs) * (heat * heat),
                (logs.exp() - taught) * heat};
      }
      case store::TargetKind::kLabels: {
        const at::Tensor yes = at::log_sigmoid(outputs / heat);
        const at::Tensor no = at::log_sigmoid(-outputs / heat);
        const at::Tensor rest = 1 - taught;
        const at::Tensor entropy = at::special_xlogy(taught, taught) + at::special_xlogy(rest, rest);
        return {(entropy - taught * yes - rest * no) * (heat * heat / size),
                (yes.exp() - taught) * (heat / size)};
      }
      case store::TargetKind::kNumbers: {
        const at::Tensor difference = outputs - taught;
        return {difference.square() / size, difference * (2 / size)};
      }
    }
    throw InternalError("unknown targets");
  }

  std::unique_ptr<Loss> loss_;
  TeacherOptions options_;
  store::TargetKind targets_;
};

}  // namespace

kernels::Softening softening_of(store::TargetKind targets) {
  if (targets == store::TargetKind::kClasses) return kernels::Softening::kClasses;
  return targets == store::TargetKind::kLabels ? kernels::Softening::kLabels : kernels::Softening::kNone;
}

std::unique_ptr<Loss> taught_loss(std::unique_ptr<Loss> loss, const TeacherOptions& options,
                                  store::TargetKind targets) {
  return std::make_unique<TaughtLoss>(std::move(loss), options, targets);
}

}  // namespace skyline::train
