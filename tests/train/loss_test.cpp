#include "train/course/loss.hpp"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

struct LossCase {
  bool mixed = false;
  double smoothing = 0;
  bool weighted = false;
};

/// PyTorch's loss of class probabilities, summed and divided by the batch, and its gradient by autograd.
void expect_pytorchs_loss(const LossCase& given, Kernels kernels) {
  const at::Tensor output = at::randn({7, 5, 1, 1});
  LossTargets targets{at::randint(0, 5, {7}, at::kLong)};
  LossRule rule{given.smoothing};
  at::Tensor wanted = at::one_hot(targets.labels, 5).to(at::kFloat);
  if (given.mixed) {
    targets.others = at::randint(0, 5, {7}, at::kLong);
    targets.shares = at::rand({7});
    const at::Tensor share = targets.shares.unsqueeze(1);
    wanted = wanted * share + at::one_hot(targets.others, 5).to(at::kFloat) * (1 - share);
  }
  if (given.weighted) rule.weights = at::rand({5});
  const PartLoss loss = cross_entropy(output, targets, rule, 10, kernels);

  const at::Tensor logits = output.flatten(1).clone().set_requires_grad(true);
  const at::Tensor expected =
      at::cross_entropy_loss(logits, wanted, rule.weights, at::Reduction::Sum, -100, given.smoothing) / 10;
  expected.backward();
  EXPECT_NEAR(loss.share.item<double>(), expected.item<double>(), 1e-5);
  EXPECT_LT(loss.gradient.flatten(1).sub(logits.grad()).abs().max().item<double>(), 1e-6);
}

TEST(Loss, IsPyTorchsWithSmoothingWeightsAndMixedTargets) {
  for (const Kernels kernels : {Kernels::kOwn, Kernels::kAten}) {
    for (const LossCase& given : std::vector<LossCase>{{},
                                                       {.smoothing = 0.1},
                                                       {.weighted = true},
                                                       {.mixed = true},
                                                       {.smoothing = 0.2, .weighted = true},
                                                       {.mixed = true, .smoothing = 0.1, .weighted = true}}) {
      expect_pytorchs_loss(given, kernels);
    }
  }
}

}  // namespace
}  // namespace skyline::train
