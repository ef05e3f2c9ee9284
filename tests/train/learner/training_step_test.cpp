#include "train/learner/training_step.hpp"

#include "skyline/train/layer_op.hpp"

#include "train/fixtures/step_fixtures.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::conv_network;
using test::NetworkBuilder;

using test::expect_agreement;
using test::random_samples;
using test::Samples;
using test::sgd;

TEST(TrainingStep, GradientsAgreeWithAutogradForEveryWidthOfTheVectorKernels) {
  for (const std::int64_t width : {1, 3, 8, 16, 27, 32, 64, 80}) {
    SCOPED_TRACE("width " + std::to_string(width));
    // One step of SGD without momentum moves the parameters by exactly the gradient.
    expect_agreement(conv_network({1, 8, 8}, 2, 3, width, 5), sgd(1.0, 0), 1, 2e-5);
  }
}

TEST(TrainingStep, AgreesWithAutogradOverSeveralStepsOfSgd) {
  expect_agreement(conv_network({1, 8, 8}, 3, 5, 16, 10), sgd(0.05, 0.9), 6, 2e-4);
  expect_agreement(conv_network({3, 6, 6}, 2, 3, 24, 10), sgd(0.05, 0.9, true, 1e-3), 6, 2e-4);
}

TEST(TrainingStep, AgreesWithAutogradForConvolutionsThatTakeSomePixelsAlone) {
  for (const std::int64_t stride : {2, 3}) {
    expect_agreement(
        NetworkBuilder({3, 8, 8}).conv2d(4, 3).conv2d(8, 1, stride).relu().flatten().linear(4).build(),
        sgd(0.1, 0.9), 5, 2e-4);
  }
}

TEST(TrainingStep, AgreesWithAutogradForOtherLayers) {
  expect_agreement(NetworkBuilder({3, 8, 8})
                       .conv2d(8, 3)
                       .relu()
                       .max_pool(2)
                       .conv2d(6, 3, 2)
                       .relu()
                       .flatten()
                       .linear(12)
                       .relu()
                       .linear(4)
                       .build(),
                   sgd(0.1, 0.9), 5, 2e-4);
  expect_agreement(
      NetworkBuilder({2, 7, 7}).conv2d(8, 3, 1, false).batch_norm().global_average_pool().linear(4).build(),
      sgd(0.1, 0.9), 5, 2e-4);
  expect_agreement(NetworkBuilder({2, 7, 7})
                       .batch_norm()
                       .conv2d(9, 3)
                       .batch_norm()
                       .conv2d(5, 3)
                       .relu()
                       .global_average_pool()
                       .relu()
                       .linear(4)
                       .build(),
                   sgd(0.1, 0.9), 5, 2e-4);
  expect_agreement(NetworkBuilder({1, 5, 5}).flatten().linear(3).build(), sgd(0.1, 0.9), 5, 1e-5);
  expect_agreement(NetworkBuilder({1, 8, 8})
                       .conv2d(16, 3)
                       .batch_norm()
                       .relu()
                       .max_pool(2)
                       .conv2d(16, 2)
                       .batch_norm()
                       .flatten()
                       .linear(6)
                       .build(),
                   sgd(0.1, 0.9), 5, 2e-4);
}

TEST(TrainingStep, AgreesWithAutogradWithDropoutAnywhere) {
  expect_agreement(NetworkBuilder({3, 8, 8})
                       .dropout(0.1)
                       .conv2d(8, 3)
                       .dropout(0.25)
                       .batch_norm()
                       .relu()
                       .max_pool(2)
                       .dropout(0.3)
                       .conv2d(6, 3)
                       .relu()
                       .flatten()
                       .linear(33)
                       .relu()
                       .dropout(0.5)
                       .linear(4)
                       .dropout(0.05)
                       .build(),
                   sgd(0.1, 0.9), 5, 2e-4);
}

TEST(TrainingStep, DrawsAnotherDropoutForEachStepLayerAndSeed) {
  // The logits are the mean over 400 pixels of what two dropouts in a row leave of ones.
  const auto network_of = [](double first, double second) {
    return NetworkBuilder({1, 20, 20}).dropout(first).dropout(second).global_average_pool().linear(2).build();
  };
  const auto losses = [](const space::Network& network, std::uint64_t seed) {
    const auto step = test::make_step(network, sgd(1e-30, 0), seed);
    for (float& value : step->parameters().memory()) value = 0;
    step->parameters().layer(3).value("weight").mutable_data_ptr<float>()[0] = 1;
    std::vector<double> kept;
    for (int i = 0; i < 3; ++i) {
      const at::Tensor ones = at::ones({1, 1, 20, 20}).contiguous(at::MemoryFormat::ChannelsLast);
      const std::vector<std::int32_t> labels = {0};
      kept.push_back(step->step(ones, labels));
    }
    return kept;
  };
  const std::vector<double> one = losses(network_of(0.5, 0), 1);
  EXPECT_NE(one[0], one[1]);
  EXPECT_NE(one[1], one[2]);
  EXPECT_EQ(one, losses(network_of(0.5, 0), 1));
  EXPECT_NE(one, losses(network_of(0.5, 0), 2));
  EXPECT_NE(one, losses(network_of(0, 0.5), 1));
}

TEST(TrainingStep, DropsNothingInEvaluationMode) {
  const space::Network with = NetworkBuilder({1, 6, 6}).dropout(0.9).flatten().linear(3).build();
  const space::Network without = NetworkBuilder({1, 6, 6}).flatten().linear(3).build();
  const Samples samples = random_samples(with.input, 4, 3, 1);
  EXPECT_TRUE(test::make_step(with, {}, 5)
                  ->infer(samples.images)
                  .equal(test::make_step(without, {}, 5)->infer(samples.images)));
}

TEST(TrainingStep, AgreesWithAutogradWhereALayerHasTwoReaders) {
  space::Network network = NetworkBuilder({1, 6, 6})
                               .conv2d(8, 3)
                               .batch_norm()
                               .relu()
                               .conv2d(8, 3)
                               .relu()
                               .global_average_pool()
                               .linear(3)
                               .build();
  // The second convolution is skipped over: two layers read the first ReLU, one of them leads nowhere.
  network.layers[5].inputs = {2};
  expect_agreement(network, sgd(0.1, 0.9), 3, 2e-4);
}

TEST(TrainingStep, AgreesWithAtensAdamOnALinearNetwork) {
  OptimizerOptions adam;
  adam.learning_rate = 0.01;
  adam.weight_decay = 0.01;
  expect_agreement(NetworkBuilder({1, 5, 5}).flatten().linear(3).build(), adam, 10, 1e-5);
}

TEST(TrainingStep, AgreesWithPyTorchsAdamWWithAndWithoutDecayOfBiases) {
  for (const auto decayed : {OptimizerOptions::Decayed::kAll, OptimizerOptions::Decayed::kWeights}) {
    OptimizerOptions adamw;
    adamw.kind = OptimizerOptions::Kind::kAdamW;
    adamw.learning_rate = 0.01;
    adamw.decoupled_decay = 2;
    adamw.decayed = decayed;
    expect_agreement(NetworkBuilder({1, 5, 5}).flatten().linear(3).build(), adamw, 10, 1e-5);
  }
}

TEST(TrainingStep, ClipsGradientsByTheirCommonNormAsPyTorchDoes) {
  for (const double most : {1e-3, 0.1, 100.0}) {
    OptimizerOptions clipped = sgd(1, 0.9);
    clipped.clip_norm = most;
    expect_agreement(conv_network({1, 8, 8}, 2, 3, 16, 5), clipped, most < 1 ? 4 : 1, 2e-5);
  }
}

TEST(TrainingStep, SparesNormsAndBiasesFromWeightDecayIfToldTo) {
  const space::Network network =
      NetworkBuilder({1, 5, 5}).conv2d(4, 3).batch_norm().relu().flatten().linear(3).build();
  OptimizerOptions options = sgd(0.05, 0.9, false, 0.5);
  options.decayed = OptimizerOptions::Decayed::kWeights;
  expect_agreement(network, options, 4, 2e-4);
}

/// Twice the input: a kind of layer that the trainer does not know by itself.
class DoubleOp final : public FusedOp {
 public:
  at::Tensor reference(const Activations& inputs, bool /*training*/) override { return inputs[0].mul(2); }
  at::Tensor forward(const Activations& inputs) override { return inputs[0].mul(2); }
  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    return {gradient.mul(2)};
  }
  at::Tensor infer(const Activations& inputs) override { return inputs[0].mul(2); }
};

TEST(TrainingStep, TakesALayerKindFromOutside) {
  register_layer_op("double", [](const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
    return std::unique_ptr<LayerOp>(std::make_unique<DoubleOp>());
  });
  expect_agreement(
      NetworkBuilder({1, 6, 6}).conv2d(8, 3).batch_norm().plain("double").relu().flatten().linear(3).build(),
      sgd(0.1, 0.9), 3, 2e-4);
}

/// Squares of the input, weighted by channel, with the largest one so far: a definition alone.
class SquareOp final : public LayerOp {
 public:
  explicit SquareOp(LayerTensors& tensors) : tensors_(tensors) {}
  at::Tensor reference(const Activations& inputs, bool training) override {
    at::Tensor& largest = tensors_.value("largest");
    if (training) {
      const at::NoGradGuard guard;
      largest.copy_(at::maximum(largest, inputs[0].amax({0, 2, 3})));
    }
    return inputs[0].square().mul(tensors_.value("gain").view({1, -1, 1, 1}));
  }

 private:
  LayerTensors& tensors_;
};

TEST(TrainingStep, DifferentiatesALayerThatHasADefinitionAlone) {
  register_layer_op("square", [](const space::Layer& /*layer*/, LayerTensors& tensors) {
    return std::unique_ptr<LayerOp>(std::make_unique<SquareOp>(tensors));
  });
  for (const bool first : {true, false}) {
    NetworkBuilder builder({3, 6, 6});
    if (!first) builder.conv2d(3, 3).batch_norm();
    builder.plain("square");
    const std::size_t layer = builder.last();
    space::Network network = builder.relu().conv2d(4, 3).relu().flatten().linear(3).build();
    network.layers[layer].tensors = {{"gain", {3}, space::Initializer::kOnes, 0, true},
                                     {"largest", {3}, space::Initializer::kZeros, 0, false}};
    expect_agreement(network, sgd(0.05, 0.9), 4, 2e-4);
  }
}

TEST(TrainingStep, LeavesAConvolutionsBiasInFrontOfABatchNormAsItStarted) {
  const space::Network network = conv_network({1, 8, 8}, 1, 3, 16, 4);
  OptimizerOptions adam;
  adam.learning_rate = 0.1;
  const auto step = test::make_step(network, adam, 3);
  const auto before = step->export_tensors();
  const Samples samples = random_samples(network.input, 8, 4, 1);
  step->step(samples.images, samples.labels);
  const auto after = step->export_tensors();
  ASSERT_EQ(before[1].name, "conv2d_0.bias");
  EXPECT_EQ(before[1].values, after[1].values);
  ASSERT_EQ(before[0].name, "conv2d_0.weight");
  EXPECT_NE(before[0].values, after[0].values);
}

TEST(TrainingStep, DrawsPyTorchsDefaultInitialValues) {
  const space::Network network = conv_network({4, 8, 8}, 1, 3, 64, 10);
  const auto tensors = test::make_step(network, {}, 5)->export_tensors();
  const float bound = 1.0F / std::sqrt(36.0F);
  const auto& weight = tensors[0].values;
  ASSERT_EQ(weight.size(), 64U * 36U);
  EXPECT_LE(*std::max_element(weight.begin(), weight.end()), bound);
  EXPECT_GE(*std::min_element(weight.begin(), weight.end()), -bound);
  EXPECT_GT(*std::max_element(weight.begin(), weight.end()), 0.99F * bound);
  double square_sum = 0;
  for (const float value : weight) square_sum += static_cast<double>(value) * static_cast<double>(value);
  EXPECT_NEAR(square_sum / static_cast<double>(weight.size()), 1.0 / 36 / 3, 0.1 / 36 / 3);
  EXPECT_EQ(tensors[2].name, "batch_norm_1.weight");
  EXPECT_EQ(tensors[2].values, std::vector<float>(64, 1.0F));
  EXPECT_EQ(tensors[3].values, std::vector<float>(64, 0.0F));
}

/// Adds the sum of its two parameters.
class SumOfTwo final : public LayerOp {
 public:
  explicit SumOfTwo(LayerTensors& tensors) : tensors_(tensors) {}
  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    return inputs[0].add(tensors_.value("left").add(tensors_.value("right")));
  }

 private:
  LayerTensors& tensors_;
};

TEST(AutogradOp, GivesEachParameterAGradientInMemoryOfItsOwn) {
  StoredLayer layer;
  for (const char* name : {"left", "right"}) {
    layer.tensors().push_back({.name = name, .value = at::ones({3, 1, 1}), .gradient = {}});
  }
  const auto op = with_passes(std::make_unique<SumOfTwo>(layer), layer);
  op->forward({at::ones({2, 3, 1, 1})});
  const at::Tensor given = at::ones({2, 3, 1, 1});
  op->backward(given, true);
  const at::Tensor& left = layer.gradient("left");
  const at::Tensor& right = layer.gradient("right");
  EXPECT_FALSE(left.is_alias_of(right)) << "clipping in place would scale it twice";
  left.mul_(0.5);
  EXPECT_EQ(left.sum().item<float>(), 3);
  EXPECT_EQ(right.sum().item<float>(), 6);
}

TEST(TrainingStep, StartsDifferentlyFromAnotherSeed) {
  const space::Network network = conv_network({1, 8, 8}, 1, 3, 8, 10);
  const auto first = test::make_step(network, {}, 5)->export_tensors();
  EXPECT_EQ(first[0].values, test::make_step(network, {}, 5)->export_tensors()[0].values);
  EXPECT_NE(first[0].values, test::make_step(network, {}, 6)->export_tensors()[0].values);
}

}  // namespace
}  // namespace skyline::train
