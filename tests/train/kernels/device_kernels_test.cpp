// The host's definitions of the devices' kernels agree with ATen in float64. Tests on GPUs compare the
// kernels with these definitions.

#include "train/device/host_accelerator.hpp"
#include "train/kernels/batch_norm_plan.hpp"
#include "train/kernels/cross_entropy.hpp"
#include "train/kernels/step_end.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

constexpr double kSpacing = std::numeric_limits<float>::epsilon();

at::Tensor in_float64(const at::Tensor& values) {
  return values.to(at::kDouble, false, true);
}
double largest(const at::Tensor& values) {
  return values.abs().max().item<double>();
}

/// Result of a kernel, ATen's, and the size of the terms of which it is the sum.
struct Compared {
  const char* name;
  at::Tensor given;
  at::Tensor wanted;
  double size;
};

/// Shape of the input, its mean, its deviation, whether a ReLU follows, whether the input lacks a constant.
using BatchNormCase = std::tuple<std::vector<std::int64_t>, double, double, bool, bool>;
class BatchNormDefinitionOfDevices : public ::testing::TestWithParam<BatchNormCase> {};

TEST_P(BatchNormDefinitionOfDevices, AgreesWithAtensInFloat64ButForRounding) {
  const auto& [shape, centre, spread, relu, lacks] = GetParam();
  const float momentum = 0.1F;
  const float epsilon = 1e-5F;
  const std::int64_t channels = shape[1];
  const at::Tensor input = at::randn(shape).mul_(spread).add_(centre);
  const at::Tensor weight = at::randn({channels});
  const at::Tensor bias = at::randn({channels});
  const at::Tensor offset = at::randn({channels}).mul_(10);
  at::Tensor running_mean = at::randn({channels});
  at::Tensor running_variance = at::rand({channels});
  if (channels > 1) {  // one channel is exactly zero, where a ReLU passes no gradient
    weight.select(0, 0).zero_();
    bias.select(0, 0).zero_();
  }

  const at::Tensor wanted_running_mean = in_float64(running_mean);
  const at::Tensor wanted_running_variance = in_float64(running_variance);
  const at::Tensor constant = in_float64(offset).mul_(lacks ? 1 : 0).view({1, -1, 1, 1});
  const at::Tensor whole = in_float64(input).add_(constant).set_requires_grad(true);
  const at::Tensor wanted_weight = in_float64(weight).set_requires_grad(true);
  const at::Tensor wanted_bias = in_float64(bias).set_requires_grad(true);
  const auto [normalized, mean, inverse] =
      at::native_batch_norm(whole, wanted_weight, wanted_bias, wanted_running_mean, wanted_running_variance,
                            true, static_cast<double>(momentum), static_cast<double>(epsilon));
  const at::Tensor wanted_output = relu ? at::relu(normalized) : normalized;

  // A rounded mean shifts all normalized values by up to this many spacings.
  const double shift = 1 + largest(input) * largest(inverse);
  const double size = shift * largest(weight) + largest(bias);
  // Near zero a rounding decides what passes the ReLU. No gradient comes there, so that either is right.
  const at::Tensor undecided = normalized.ne(0).logical_and_(normalized.abs().le(2 * kSpacing * size));
  at::Tensor gradient = at::randn(shape).masked_fill_(undecided, 0);
  const double slope = largest(gradient);
  wanted_output.backward(in_float64(gradient));

  const auto seven = [](const at::Tensor& like) { return at::full_like(like, 7); };
  at::Tensor output = seven(input), input_gradient = seven(input), given_mean = seven(bias);
  at::Tensor given_inverse = seven(bias), weight_gradient = seven(bias), bias_gradient = seven(bias);
  kernels::BatchNormPlan plan{.samples = shape[0],
                              .channels = channels,
                              .pixels = shape[2] * shape[3],
                              .relu = relu,
                              .momentum = momentum,
                              .epsilon = epsilon,
                              .input = input.const_data_ptr<float>(),
                              .weight = weight.const_data_ptr<float>(),
                              .bias = bias.const_data_ptr<float>(),
                              .offset = lacks ? offset.const_data_ptr<float>() : nullptr,
                              .running_mean = running_mean.mutable_data_ptr<float>(),
                              .running_variance = running_variance.mutable_data_ptr<float>(),
                              .mean = given_mean.mutable_data_ptr<float>(),
                              .inverse_deviation = given_inverse.mutable_data_ptr<float>(),
                              .output = output.mutable_data_ptr<float>(),
                              .gradient = gradient.const_data_ptr<float>(),
                              .input_gradient = input_gradient.mutable_data_ptr<float>(),
                              .weight_gradient = weight_gradient.mutable_data_ptr<float>(),
                              .bias_gradient = bias_gradient.mutable_data_ptr<float>()};
  const auto accelerator = make_host_accelerator();
  accelerator->batch_norm_forward(plan);
  accelerator->batch_norm_backward(plan);
  plan.input_gradient = gradient.mutable_data_ptr<float>();
  accelerator->batch_norm_backward(plan);
  EXPECT_TRUE(gradient.equal(input_gradient)) << "in place";

  const double rows = static_cast<double>(plan.rows());
  for (const Compared& result : std::vector<Compared>{
           {"output", output, wanted_output, size},
           {"mean", given_mean, mean - constant.flatten(), largest(input)},
           {"inverse deviation", given_inverse, inverse, largest(inverse)},
           {"running mean", running_mean, wanted_running_mean, largest(whole) + 1},
           {"running variance", running_variance, wanted_running_variance, largest(wanted_running_variance)},
           {"input gradient", input_gradient, whole.grad(),
            shift * largest(inverse) * largest(weight) * slope},
           {"weight gradient", weight_gradient, wanted_weight.grad(), shift * rows * slope},
           {"bias gradient", bias_gradient, wanted_bias.grad(), largest(wanted_bias.grad())}}) {
    EXPECT_LE(largest(result.given - result.wanted), 2 * kSpacing * result.size) << result.name;
  }
  EXPECT_TRUE(!relu || output.ge(0).all().item<bool>());
}

const std::vector<std::vector<std::int64_t>> kBatchNormShapes{
    {1, 3, 5, 7}, {9, 1, 3, 3}, {2, 3, 1, 1}, {7, 5, 1, 1}, {33, 13, 5, 3}};

INSTANTIATE_TEST_SUITE_P(Shapes, BatchNormDefinitionOfDevices,
                         ::testing::Combine(::testing::ValuesIn(kBatchNormShapes), ::testing::Values(0.5),
                                            ::testing::Values(0.0, 0.003, 1.0, 1e15), ::testing::Bool(),
                                            ::testing::Bool()));
INSTANTIATE_TEST_SUITE_P(FarFromZero, BatchNormDefinitionOfDevices,
                         ::testing::Combine(::testing::ValuesIn(kBatchNormShapes), ::testing::Values(-1000.0),
                                            ::testing::Values(0.5), ::testing::Bool(), ::testing::Bool()));

/// Samples and classes, the size of logits, whether targets are mixed, smoothing, whether classes have
/// weights.
using CrossEntropyCase = std::tuple<std::array<std::int64_t, 2>, double, bool, double, bool>;
class CrossEntropyDefinitionOfDevices : public ::testing::TestWithParam<CrossEntropyCase> {};

TEST_P(CrossEntropyDefinitionOfDevices, AgreesWithAtensInFloat64ButForRounding) {
  const auto& [shape, size, mixed, smoothing, weighted] = GetParam();
  const auto [samples, classes] = shape;
  const std::int64_t batch = samples + 3;
  const at::Tensor logits = at::randn({samples, classes}).mul_(size);
  const at::Tensor labels = at::randint(0, classes, {samples}, at::kLong);
  const at::Tensor others = at::randint(0, classes, {samples}, at::kLong);
  const at::Tensor shares = at::rand({samples});
  const at::Tensor weights = at::rand({classes}).add_(0.1);
  if (classes > 2) weights.select(0, 1).zero_();  // a class without samples

  const at::Tensor differentiated = in_float64(logits).set_requires_grad(true);
  at::Tensor wanted = labels;
  if (mixed) {
    const at::Tensor share = in_float64(shares).unsqueeze(1);
    wanted = at::one_hot(labels, classes) * share + at::one_hot(others, classes) * (1 - share);
  }
  const at::Tensor loss =
      at::cross_entropy_loss(differentiated, wanted, weighted ? in_float64(weights) : at::Tensor(),
                             at::Reduction::Sum, -100, smoothing) /
      batch;
  loss.backward();

  at::Tensor share = at::full({}, 7.0F);
  at::Tensor gradient = at::full({samples, classes}, 7.0F);
  make_host_accelerator()->cross_entropy(
      {.logits = logits.const_data_ptr<float>(),
       .targets = {labels.const_data_ptr<std::int64_t>(),
                   mixed ? others.const_data_ptr<std::int64_t>() : nullptr,
                   mixed ? shares.const_data_ptr<float>() : nullptr},
       .rule = {smoothing, weighted ? weights.const_data_ptr<float>() : nullptr},
       .samples = samples,
       .classes = classes,
       .batch = batch,
       .share = share.mutable_data_ptr<float>(),
       .gradient = gradient.mutable_data_ptr<float>()});
  // All is computed in float64 and rounded to float once.
  EXPECT_TRUE(at::allclose(in_float64(share), loss, kSpacing, 1e-15)) << share << loss;
  EXPECT_TRUE(at::allclose(in_float64(gradient), differentiated.grad(), kSpacing, 1e-15))
      << gradient << differentiated.grad();
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CrossEntropyDefinitionOfDevices,
    ::testing::Combine(::testing::ValuesIn(std::vector<std::array<std::int64_t, 2>>{
                           {0, 5}, {1, 1}, {1, 2}, {7, 5}, {31, 10}, {300, 3}, {3, 1000}}),
                       ::testing::Values(0.0, 1.0, 30.0, 1e30), ::testing::Bool(),
                       ::testing::Values(0.0, 0.1), ::testing::Bool()));

/// Steps of an epoch, the one where training begins, the batch.
using StepEndCase = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
class StepEndDefinitionOfDevices : public ::testing::TestWithParam<StepEndCase> {};

TEST_P(StepEndDefinitionOfDevices, NotesTheLossAndMovesToTheNextStep) {
  const auto [steps, first, batch] = GetParam();
  const std::int64_t place = std::int64_t{5} << 32;
  std::vector<float> losses(static_cast<std::size_t>(steps), 7.0F);
  std::vector<float> rates;
  for (std::int64_t step = 0; step < steps; ++step) rates.push_back(1 / static_cast<float>(step + 2));
  float loss = 0;
  float rate = rates[static_cast<std::size_t>(first)];
  std::array<std::int64_t, 2> counters{first, place};
  std::vector<float> wanted = losses;
  for (std::int64_t step = first; step < steps; ++step) {
    loss = 0.25F * static_cast<float>(step);
    make_host_accelerator()->end_step({.loss = &loss,
                                       .losses = losses.data(),
                                       .rates = rates.data(),
                                       .rate = &rate,
                                       .counters = counters.data(),
                                       .steps = steps,
                                       .batch = batch});
    ASSERT_EQ(counters[0], step + 1);
    wanted[static_cast<std::size_t>(step)] = loss;
    EXPECT_EQ(losses, wanted);
    EXPECT_EQ(rate, 1 / static_cast<float>(step + 1 < steps ? step + 3 : step + 2));
    EXPECT_EQ(counters[1], place + (step + 1 - first) * batch);
  }
}

INSTANTIATE_TEST_SUITE_P(Epochs, StepEndDefinitionOfDevices,
                         ::testing::Values(StepEndCase{1, 0, 1}, StepEndCase{2, 0, 128}, StepEndCase{5, 0, 7},
                                           StepEndCase{5, 3, 32}, StepEndCase{370, 369, 64}));

}  // namespace
}  // namespace skyline::train
