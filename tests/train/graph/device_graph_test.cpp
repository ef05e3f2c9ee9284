// The graph on a device, on the CPU behind the seam of accelerators, against the graph of the CPU.
#include "skyline/core/random.hpp"

#include "train/device/host_accelerator.hpp"
#include "train/fixtures/branches.hpp"
#include "train/fixtures/group_fixtures.hpp"
#include "train/fixtures/step_fixtures.hpp"
#include "train/graph/layer_graph.hpp"

#include <memory>
#include <string>

#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using space::Network;
using test::NetworkBuilder;

constexpr std::uint64_t kStepSeed = 21;

/// What a network in training gives for a batch.
struct Pass {
  at::Tensor logits;
  std::vector<at::Tensor> gradients;  // gradients of all parameters
  std::vector<at::Tensor> values;     // values of all tensors after the pass
};

enum class Where { kHost, kHostInBfloat16, kDevice, kDeviceInPlanes, kDeviceInBfloat16 };

/// @param first_sample  place of the samples in the batch
Pass pass(const Network& network, Where where, std::size_t first_sample = 0) {
  const WithoutAutograd no_autograd;
  const auto accelerator = make_host_accelerator(
      where == Where::kHost || where == Where::kHostInBfloat16 ? Kernels::kOwn : Kernels::kAten);
  ParameterStore parameters(network, 5);
  DevicePlace place{.accelerator = accelerator.get(),
                    .bfloat16 = where == Where::kDeviceInBfloat16 || where == Where::kHostInBfloat16,
                    .order = where == Where::kDeviceInPlanes ? at::MemoryFormat::Contiguous
                                                             : at::MemoryFormat::ChannelsLast};
  parameters.move_to(c10::Device(c10::kCPU), place.order);
  LayerGraph graph(network, parameters, place);
  std::vector<std::int64_t> seeds;
  for (const std::string& layer : place.drawing_layers) {
    seeds.push_back(static_cast<std::int64_t>(derive_seed(kStepSeed, layer)));
  }
  place.seeds = at::from_blob(seeds.data(), {static_cast<std::int64_t>(seeds.size())}, at::kLong);
  place.first_sample = static_cast<std::int64_t>(first_sample);
  const test::Samples samples = test::random_samples(network.input, 6, network.classes, 3);
  Pass result;
  result.logits = graph.forward(samples.images, {kStepSeed, first_sample}).flatten(1).to(at::kFloat);
  graph.backward(result.logits.mul(0.1).view({6, network.classes, 1, 1}));
  for (StoredLayer& layer : parameters.layers()) {
    for (const StoredTensor& tensor : layer.tensors()) {
      result.values.push_back(tensor.value);
      if (tensor.trainable) result.gradients.push_back(tensor.gradient);
    }
  }
  return result;
}

void expect_close(const at::Tensor& got, const at::Tensor& expected, double tolerance) {
  ASSERT_TRUE(got.defined() && expected.defined());
  ASSERT_EQ(got.scalar_type(), at::kFloat);
  EXPECT_LE(got.sub(expected).abs().max().item<double>(),
            tolerance * std::max(1e-3, expected.abs().max().item<double>()));
}

void expect_close(const Pass& got, const Pass& expected, double tolerance) {
  expect_close(got.logits, expected.logits, tolerance);
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    expect_close(got.gradients[i], expected.gradients[i], tolerance);
  }
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    expect_close(got.values[i], expected.values[i], tolerance);
  }
}

TEST(DeviceGraph, HasTheGradientsOfTheCpus) {
  for (const Network& network : {test::every_layer(), test::residual_network({3, 6, 6}, 8, 4),
                                 test::nas_bench_cell({3, 6, 6}, 8, 4)}) {
    for (const std::size_t first_sample : {0U, 3U}) {
      for (const Where where : {Where::kDevice, Where::kDeviceInPlanes}) {
        expect_close(pass(network, where, first_sample), pass(network, Where::kHost, first_sample), 1e-4);
      }
    }
  }
}

TEST(DeviceGraph, HasTheGradientsOfTheCpusForRandomBranches) {
  test::RandomNetworks networks(29);
  for (int i = 0; i < 100; ++i) {
    const Network network = networks.draw();
    SCOPED_TRACE("network " + std::to_string(i) + ":\n" + network.canonical_text());
    const Pass expected = pass(network, Where::kHost);
    expect_close(pass(network, Where::kDevice), expected, 1e-3);
    expect_close(pass(network, Where::kDeviceInPlanes), expected, 1e-3);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(DeviceGraph, ComputesProductsInBfloat16AndGradientsOfParametersInFloat32) {
  const Network network = NetworkBuilder({3, 8, 8})
                              .conv2d(8, 3)
                              .relu()
                              .max_pool(2)
                              .dropout(0.1)
                              .conv2d(8, 3)
                              .relu()
                              .global_average_pool()
                              .linear(4)
                              .build();
  const Pass half = pass(network, Where::kDeviceInBfloat16);
  const Pass full = pass(network, Where::kDevice);
  expect_close(half, full, 0.05);
  EXPECT_FALSE(half.logits.equal(full.logits));
}

TEST(DeviceGraph, ComputesOnTheCpuInBfloat16WhatItDoesInFloat32) {
  const Network network = NetworkBuilder({3, 8, 8})
                              .conv2d(24, 3)
                              .relu()
                              .conv2d(24, 3)
                              .relu()
                              .dropout(0.1)
                              .flatten()
                              .linear(4)
                              .build();
  const Pass half = pass(network, Where::kHostInBfloat16);
  const Pass full = pass(network, Where::kHost);
  expect_close(half, full, 0.05);
  EXPECT_FALSE(half.logits.equal(full.logits));
}

TEST(DeviceGraph, NormalizesOnTheCpuInBfloat16WhatItDoesInFloat32) {
  const Pass half = pass(test::wide_network(), Where::kHostInBfloat16);
  const Pass full = pass(test::wide_network(), Where::kHost);
  for (std::size_t i = 0; i < full.gradients.size(); ++i) {  // norms differ less than single values
    EXPECT_LE(half.gradients[i].sub(full.gradients[i]).norm().item<double>(),
              0.2 * full.gradients[i].norm().item<double>() + 1e-6);
  }
  expect_close(half.logits, full.logits, 0.05);
}

/// The statistics behind rounded weights are those of these weights, and of no others.
TEST(DeviceGraph, InfersOnTheCpuInBfloat16WithTheWeightsThatWereTrained) {
  const WithoutAutograd no_autograd;
  Network network = NetworkBuilder({64, 8, 8}).conv2d(64, 1, 1, false).batch_norm().build();
  network.layers.back().attributes["momentum"] = 1.0;  // so that the batch's statistics remain
  ASSERT_TRUE(pays_in_bfloat16(network.layers.front()));
  const auto accelerator = make_host_accelerator(Kernels::kOwn);
  ParameterStore parameters(network, 5);
  DevicePlace place{.accelerator = accelerator.get(), .bfloat16 = true};
  LayerGraph graph(network, parameters, place);
  at::manual_seed(3);
  const at::Tensor images = at::rand({6, 64, 8, 8}).add(20);  // means far above deviations
  const at::Tensor trained = graph.forward(images, {kStepSeed, 0}).to(at::kFloat);
  expect_close(graph.infer(images).to(at::kFloat), trained, 0.01);
}

TEST(DeviceGraph, TakesBfloat16OnTheCpuForLayersOfEnoughOutputsAndProducts) {
  const auto layer_of = [](std::int64_t inputs, std::int64_t outputs, std::int64_t side) {
    return NetworkBuilder({inputs, side, side}).conv2d(outputs, 3).build().layers.front();
  };
  const auto pays = [&](std::int64_t inputs, std::int64_t outputs, std::int64_t side) {
    return pays_in_bfloat16(layer_of(inputs, outputs, side));
  };
  EXPECT_TRUE(pays(16, 16, 12));
  EXPECT_TRUE(pays(1, 64, 32)) << "grey images";
  space::Layer grouped = layer_of(64, 64, 32);
  for (const std::int64_t inputs : {1, 8, 16}) {
    grouped.tensors.front().dims[1] = inputs;
    EXPECT_EQ(pays_in_bfloat16(grouped), inputs == 16);
  }
  EXPECT_FALSE(pays(64, 15, 32));
  EXPECT_FALSE(pays(16, 16, 8)) << "too few products";
  EXPECT_TRUE(pays(32, 32, 8));
}

/// A layer that has a definition alone, which wants float32.
class SoftSignOp final : public LayerOp {
 public:
  at::Tensor reference(const Activations& inputs, bool /*training*/) override {
    EXPECT_EQ(inputs[0].scalar_type(), at::kFloat);
    return inputs[0].div(inputs[0].abs().add(1));
  }
};

TEST(DeviceGraph, GivesALayerWithADefinitionAloneFloat32) {
  register_layer_op("soft_sign", [](const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
    return std::unique_ptr<LayerOp>(std::make_unique<SoftSignOp>());
  });
  const Network network =
      NetworkBuilder({3, 6, 6}).conv2d(4, 3).plain("soft_sign").conv2d(4, 3).flatten().linear(3).build();
  expect_close(pass(network, Where::kDevice), pass(network, Where::kHost), 1e-4);
  expect_close(pass(network, Where::kDeviceInPlanes), pass(network, Where::kHost), 1e-4);
  expect_close(pass(network, Where::kDeviceInBfloat16), pass(network, Where::kDevice), 0.05);
}

}  // namespace
}  // namespace skyline::train
