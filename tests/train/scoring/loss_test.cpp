#include "train/learner/loss.hpp"

#include "support/yaml_config.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/graph/layer_graph.hpp"

#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

std::unique_ptr<Loss> make(const std::string& name, const LossProblem& problem,
                           const ConfigNode& section = {}) {
  TrainingOptions options;
  options.loss = LossOrMetric{name, section};
  options.problem = problem;
  return loss_of(options);
}

struct LossCase {
  bool mixed = false;
  double smoothing = 0;
  bool weighted = false;
};

/// PyTorch's loss of class probabilities, summed and divided by the batch, and its gradient by autograd.
void expect_pytorchs_loss(const LossCase& given, Kernels kernels) {
  const at::Tensor output = at::randn({7, 5, 1, 1});
  LossTargets targets{at::randint(0, 5, {7}, at::kLong)};
  at::Tensor wanted = at::one_hot(targets.wanted, 5).to(at::kFloat);
  if (given.mixed) {
    targets.others = at::randint(0, 5, {7}, at::kLong);
    targets.shares = at::rand({7});
    const at::Tensor share = targets.shares.unsqueeze(1);
    wanted = wanted * share + at::one_hot(targets.others, 5).to(at::kFloat) * (1 - share);
  }
  const LossProblem problem{store::TargetKind::kClasses, 5, 20, {2, 8, 5, 1, 4}};
  const at::Tensor weights = at::tensor({2.0F, 0.5F, 0.8F, 4.0F, 1.0F});
  const std::string section = "{label_smoothing: " + std::to_string(given.smoothing) +
                              ", class_weights: " + (given.weighted ? "balanced" : "none") + "}";
  const auto loss = make("cross_entropy", problem, testing::config_from_yaml(section));
  const PartLoss part = loss_of_part(*loss, output, targets, 10, *make_host_accelerator(kernels));

  const at::Tensor logits = output.flatten(1).clone().set_requires_grad(true);
  const at::Tensor expected = at::cross_entropy_loss(logits, wanted, given.weighted ? weights : at::Tensor(),
                                                     at::Reduction::Sum, -100, given.smoothing) /
                              10;
  expected.backward();
  EXPECT_NEAR(part.share.item<double>(), expected.item<double>(), 1e-5);
  EXPECT_LT(part.gradient.flatten(1).sub(logits.grad()).abs().max().item<double>(), 1e-6);
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

/// A loss that is a definition and nothing else: by itself, and mixed.
class HalfSquare final : public Loss {
 public:
  at::Tensor reference(const at::Tensor& outputs, const at::Tensor& targets) const override {
    const at::Tensor wanted = targets.dim() == 1 ? at::one_hot(targets, 5).to(outputs.dtype()) : targets;
    return (outputs - wanted).square().sum(1) / 2;
  }
};

TEST(Loss, NeedsADefinitionAlone) {
  const WithoutAutograd no_autograd;
  const HalfSquare loss;
  const at::Tensor output = at::randn({7, 5, 1, 1});
  const at::Tensor wanted = at::randn({7, 5});
  for (const Kernels kernels : {Kernels::kOwn, Kernels::kAten}) {
    const PartLoss part = loss_of_part(loss, output, {wanted}, 10, *make_host_accelerator(kernels));
    const at::Tensor difference = output.flatten(1) - wanted;
    EXPECT_NEAR(part.share.item<double>(), difference.square().sum().item<double>() / 20, 1e-5);
    EXPECT_LT(part.gradient.flatten(1).sub(difference / 10).abs().max().item<double>(), 1e-6);
    at::Tensor sum = at::zeros({}, at::kDouble);
    score_loss(loss, output.flatten(1), wanted, kernels, sum);
    EXPECT_NEAR(sum.item<double>(), difference.square().sum().item<double>() / 2, 1e-5);
  }
}

TEST(Loss, MixesTheLossesByBothClasses) {
  const HalfSquare loss;
  const at::Tensor output = at::randn({7, 5, 1, 1});
  const LossTargets targets{at::randint(0, 5, {7}, at::kLong), at::randint(0, 5, {7}, at::kLong),
                            at::rand({7})};
  const auto gradient_of = [&](const at::Tensor& classes) {
    return (output.flatten(1) - at::one_hot(classes, 5)) / 7;
  };
  const at::Tensor share = targets.shares.unsqueeze(1);
  const at::Tensor expected = gradient_of(targets.wanted) * share + gradient_of(targets.others) * (1 - share);
  const PartLoss part = loss_of_part(loss, output, targets, 7, *make_host_accelerator(Kernels::kOwn));
  EXPECT_LT(part.gradient.flatten(1).sub(expected).abs().max().item<double>(), 1e-6);
}

TEST(Loss, TakesOutputsInBFloat16) {
  const WithoutAutograd no_autograd;
  const at::Tensor output = at::randn({7, 5, 1, 1}).to(at::kBFloat16);
  for (const std::string& name : loss_names()) {
    const LossKind& kind = *find_loss(name);
    const auto loss = make(name, {kind.targets.front(), 5, 10, {1, 2, 7, 1, 1}});
    const bool classes = kind.targets.front() == store::TargetKind::kClasses;
    const at::Tensor wanted = classes ? at::randint(0, 5, {7}, at::kLong) : at::rand({7, 5});
    for (const Kernels kernels : {Kernels::kOwn, Kernels::kAten}) {
      const PartLoss part = loss_of_part(*loss, output, {wanted}, 10, *make_host_accelerator(kernels));
      const PartLoss same =
          loss_of_part(*loss, output.to(at::kFloat), {wanted}, 10, *make_host_accelerator(kernels));
      EXPECT_TRUE(part.share.equal(same.share)) << name;
      EXPECT_TRUE(part.gradient.equal(same.gradient)) << name;
    }
  }
}

TEST(Loss, OfAPartWithoutSamplesIsZero) {
  for (const std::string& name : loss_names()) {
    const LossKind& kind = *find_loss(name);
    const auto loss = make(name, {kind.targets.front(), 3, 10, {1, 2, 7}});
    const bool classes = kind.targets.front() == store::TargetKind::kClasses;
    const at::Tensor wanted = classes ? at::zeros({0}, at::kLong) : at::zeros({0, 3});
    for (const Kernels kernels : {Kernels::kOwn, Kernels::kAten}) {
      EXPECT_EQ(loss_of_part(*loss, at::zeros({0, 3, 1, 1}), {wanted}, 10, *make_host_accelerator(kernels))
                    .share.item<double>(),
                0)
          << name;
    }
  }
}

}  // namespace
}  // namespace skyline::train
