#include "train/learner/loss.hpp"

#include "skyline/core/error.hpp"

#include "train/learner/taught_loss.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

namespace skyline::train {
namespace {

at::Tensor losses_of(const Loss& loss, const at::Tensor& outputs, const at::Tensor& targets) {
  at::Tensor each = loss.reference(outputs, targets);
  require(each.dim() == 1 && each.size(0) == outputs.size(0), "a loss that is not one number a sample");
  return each;
}

/// Differentiates the loss. If classes were mixed, it is the mix of the losses by both classes.
PartLoss differentiate(const Loss& loss, const at::Tensor& output, const LossTargets& targets,
                       std::int64_t batch, kernels::DeviceKernels& device) {
  const c10::InferenceMode with_autograd(false);
  const at::Tensor source = output.flatten(1).variable_data().set_requires_grad(true);
  at::Tensor each = losses_of(loss, source, targets.wanted);
  if (targets.others.defined()) {
    const at::Tensor by_others = losses_of(loss, source, targets.others);
    each = by_others + targets.shares * (each - by_others);
  }
  const at::Tensor share = each.sum() / static_cast<double>(batch);
  const at::Tensor gradient = torch::autograd::grad({share}, {source}).front();
  return {share.variable_data().to(device.kernels() == Kernels::kOwn ? at::kDouble : at::kFloat),
          gradient.contiguous().view(output.sizes())};
}

/// A loss that is the mean over the outputs of a function of output and target.
template <at::Tensor (*kFunction)(const at::Tensor& outputs, const at::Tensor& targets)>
class MeanLoss final : public Loss {
 public:
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

std::unique_ptr<Loss> loss_of_targets(const TrainingOptions& options) {
  const LossOrMetric choice = *with_defaults(options, options.problem.targets).loss;
  if (const auto& make = find_loss(choice.name)->make) return make(choice.section, options.problem);
  if (choice.name == "cross_entropy")
    return cross_entropy_loss(CrossEntropyOptions::table().parse(choice.section), options.problem);
  if (choice.name == "mse") return std::make_unique<MeanLoss<squared_error>>();
  if (choice.name == "mae") return std::make_unique<MeanLoss<absolute_error>>();
  if (choice.name == "binary_cross_entropy") return std::make_unique<MeanLoss<binary_cross_entropy>>();
  throw InternalError("the loss `" + choice.name + "` has nothing that makes it");
}

}  // namespace

PartLoss loss_of_part(const Loss& loss, const at::Tensor& output, const LossTargets& targets,
                      std::int64_t batch, kernels::DeviceKernels& device) {
  const at::Tensor values = output.to(at::kFloat);
  const auto* fused = dynamic_cast<const FusedLoss*>(&loss);
  return fused != nullptr ? fused->part(values, targets, batch, device)
                          : differentiate(loss, values, targets, batch, device);
}

void score_loss(const Loss& loss, const at::Tensor& outputs, const at::Tensor& targets, Kernels kernels,
                at::Tensor& result) {
  if (const auto* fused = dynamic_cast<const FusedLoss*>(&loss)) {
    return fused->score(outputs, targets, kernels, result);
  }
  const bool classes = targets.scalar_type() == at::kLong;
  result.copy_(losses_of(loss, outputs.to(at::kDouble), classes ? targets : targets.to(at::kDouble)).sum());
}

std::unique_ptr<Loss> loss_of(const TrainingOptions& options) {
  auto loss = loss_of_targets(options);
  return options.teacher ? taught_loss(std::move(loss), *options.teacher, options.problem.targets)
                         : std::move(loss);
}

}  // namespace skyline::train
