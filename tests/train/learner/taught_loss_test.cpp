#include "train/learner/taught_loss.hpp"

#include "train/device/host_accelerator.hpp"
#include "train/graph/layer_graph.hpp"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/kl_div.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using store::TargetKind;

constexpr TeacherOptions kTeacher{.file = {}, .weight = 0.7, .temperature = 3};
constexpr std::int64_t kBatch = 10;  // a batch, of which these are 7 samples

std::unique_ptr<Loss> taught(TargetKind targets) {
  TrainingOptions options;
  options.problem = {targets, 5, 20, {2, 8, 5, 1, 4}};
  options.teacher = kTeacher;
  return loss_of(options);
}

at::Tensor targets_of(TargetKind kind) {
  if (kind == TargetKind::kClasses) return at::randint(0, 5, {7}, at::kLong);
  return kind == TargetKind::kLabels ? at::randint(0, 2, {7, 5}).to(at::kFloat) : at::randn({7, 5});
}

/// The loss as its paper has it, in float64, by ATen's own functions.
at::Tensor definition(TargetKind kind, const at::Tensor& outputs, const at::Tensor& targets,
                      const at::Tensor& said) {
  const double heat = kTeacher.temperature;
  at::Tensor own;
  at::Tensor distance;
  if (kind == TargetKind::kClasses) {
    own = at::cross_entropy_loss(outputs, targets, {}, at::Reduction::Sum);
    distance =
        heat * heat *
        at::kl_div(at::log_softmax(outputs / heat, 1), at::softmax(said / heat, 1), at::Reduction::Sum);
  } else if (kind == TargetKind::kLabels) {
    const auto entropy = [](const at::Tensor& logits, const at::Tensor& shares) {
      return at::binary_cross_entropy_with_logits(logits, shares, {}, {}, at::Reduction::Sum) / 5;
    };
    const at::Tensor shares = (said / heat).sigmoid();
    own = entropy(outputs, targets.to(at::kDouble));
    distance = heat * heat * (entropy(outputs / heat, shares) - entropy(said / heat, shares));
  } else {
    own = at::mse_loss(outputs, targets.to(at::kDouble), at::Reduction::Sum) / 5;
    distance = at::mse_loss(outputs, said, at::Reduction::Sum) / 5;
  }
  return ((1 - kTeacher.weight) * own + kTeacher.weight * distance) / static_cast<double>(kBatch);
}

/// What the kernel makes of a teacher's outputs.
at::Tensor softened(TargetKind kind, const at::Tensor& said) {
  at::Tensor rows = at::zeros(said.sizes());
  const kernels::TeachPlan plan{said.const_data_ptr<float>(), softening_of(kind),
                                static_cast<float>(kTeacher.temperature), nullptr};
  for (std::int64_t i = 0; i < said.size(0); ++i) {
    add_taught(plan, i, static_cast<std::int32_t>(said.size(1)), 1, rows[i].mutable_data_ptr<float>());
  }
  return rows;
}

TEST(TaughtLoss, IsHintonsBesideATen) {
  for (const TargetKind kind : {TargetKind::kClasses, TargetKind::kLabels, TargetKind::kNumbers}) {
    SCOPED_TRACE(to_text(kind));
    const at::Tensor output = 4 * at::randn({7, 5, 1, 1});
    const at::Tensor said = 6 * at::randn({7, 5});
    const at::Tensor targets = targets_of(kind);
    const at::Tensor exact = output.flatten(1).to(at::kDouble).set_requires_grad(true);
    const at::Tensor expected = definition(kind, exact, targets, said.to(at::kDouble));
    expected.backward();
    const WithoutAutograd no_autograd;
    for (const Kernels kernels : {Kernels::kOwn, Kernels::kAten}) {
      const PartLoss part =
          loss_of_part(*taught(kind), output, {.wanted = targets, .taught = softened(kind, said)}, kBatch,
                       *make_host_accelerator(kernels));
      EXPECT_EQ(part.share.scalar_type(), kernels == Kernels::kOwn ? at::kDouble : at::kFloat);
      EXPECT_NEAR(part.share.item<double>(), expected.item<double>(), 1e-5 * expected.item<double>());
      EXPECT_LT(part.gradient.flatten(1).sub(exact.grad()).abs().max().item<double>(), 2e-6);
    }
  }
}

TEST(TaughtLoss, OfAPartWithoutSamplesIsZero) {
  const WithoutAutograd no_autograd;
  for (const Kernels kernels : {Kernels::kOwn, Kernels::kAten}) {
    const LossTargets none{.wanted = at::zeros({0}, at::kLong), .taught = at::zeros({0, 5})};
    const PartLoss part = loss_of_part(*taught(TargetKind::kClasses), at::zeros({0, 5, 1, 1}), none, kBatch,
                                       *make_host_accelerator(kernels));
    EXPECT_EQ(part.share.item<double>(), 0);
  }
}

TEST(TaughtLoss, ScoresHeldOutSamplesByTheirTargetsAlone) {
  const at::Tensor outputs = at::randn({7, 5});
  const at::Tensor targets = targets_of(TargetKind::kClasses);
  at::Tensor sum = at::zeros({}, at::kDouble);
  score_loss(*taught(TargetKind::kClasses), outputs, targets, Kernels::kOwn, sum);
  EXPECT_NEAR(sum.item<double>(),
              at::cross_entropy_loss(outputs, targets, {}, at::Reduction::Sum).item<double>(), 1e-4);
}

}  // namespace
}  // namespace skyline::train
