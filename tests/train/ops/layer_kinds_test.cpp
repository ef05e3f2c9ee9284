// Every kind of layer, with random attributes, against an independent definition in float64.
#include "skyline/space/layer_kind.hpp"
#include "skyline/train/layer_op.hpp"

#include "support/graph_builder.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/fixtures/layer_oracles.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/inherit/weight_transfer.hpp"
#include "train/ops/fusing_op.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using skyline::testing::make_layer;
using space::Layer;
using space::Network;
using test::LayerOracle;
using test::oracles;

/// A network of one layer, on an input of its own.
Network alone(const LayerOracle& oracle, RandomStream& random) {
  const test::DrawnLayer drawn = oracle.draw(random);
  Network network;
  network.input = drawn.inputs.front();
  network.layers = {make_layer(oracle.kind, drawn.attributes, drawn.inputs)};
  return network;
}

at::Tensor random_tensor(RandomStream& random, const std::vector<std::int64_t>& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(4 * random.uniform() - 2);
  return at::tensor(values).view(dims).contiguous(dims.size() == 4 ? at::MemoryFormat::ChannelsLast
                                                                   : at::MemoryFormat::Contiguous);
}

double size_of(const at::Tensor& values) {
  return values.numel() == 0 ? 0 : values.abs().max().item<double>();
}

/// @param scale  of the values that make these
void expect_near(const at::Tensor& got, const at::Tensor& expected, double scale, const std::string& what) {
  ASSERT_TRUE(got.defined() && expected.defined()) << what;
  ASSERT_EQ(got.sizes(), expected.sizes()) << what;
  EXPECT_LE(size_of(got.to(at::kDouble).sub(expected)), 2e-5 * std::max(scale, 1.0)) << what;
}

/// Values of the layer's tensors that no default hides.
void randomize(ParameterStore& parameters, RandomStream& random) {
  for (StoredTensor& tensor : parameters.layer(0).tensors()) {
    tensor.value.copy_(random_tensor(random, tensor.value.sizes().vec()));
  }
}

struct Passes {
  at::Tensor output;
  at::Tensor inference;
  std::map<std::string, at::Tensor> gradients;  // gradients by tensor; the input's name is "input"
};

/// Our passes.
/// @param bfloat16  of activations, where the kind takes them, and of products
Passes ours(const Network& network, RandomStream& random, std::int64_t samples, at::Tensor& input,
            at::Tensor& slope, std::map<std::string, at::Tensor>& tensors, bool bfloat16 = false) {
  const WithoutAutograd no_autograd;
  const auto accelerator = make_host_accelerator(Kernels::kOwn);
  ParameterStore parameters(network, 5);
  randomize(parameters, random);
  DevicePlace place{.accelerator = accelerator.get(), .bfloat16 = bfloat16};
  const at::Tensor seeds = at::tensor(std::vector<std::int64_t>{7});
  place.seeds = seeds;
  const Layer& layer = network.layers.front();
  if (traits_of(layer).draws) place.drawing_layers.push_back(layer.name);
  const GraphOp made = make_graph_op(layer, parameters.layer(0), place);
  // All of Skyline's own ops with hand-written passes take bfloat16.
  EXPECT_EQ(outputs_kept(layer.kind) == 1, made.takes_bfloat16) << layer.kind;
  FusedOp* const op = made.op.get();
  input = random_tensor(random, {samples, layer.input().channels, layer.input().height, layer.input().width});
  slope = random_tensor(random, {samples, layer.output.channels, layer.output.height, layer.output.width});
  if (bfloat16 && made.takes_bfloat16) input = input.to(at::kBFloat16);
  Passes passes;
  passes.output = op->forward({input});
  Activations by_input = op->backward(slope.to(passes.output.scalar_type(), false, true), true);
  passes.gradients["input"] = by_input.at(0);
  if (auto* const fusing = dynamic_cast<FusingOp*>(op)) fusing->prepare_inference();
  passes.inference = op->infer({input});
  for (StoredTensor& tensor : parameters.layer(0).tensors()) {
    tensors[tensor.name] = tensor.value.detach().to(at::kDouble).contiguous();
    if (tensor.trainable) passes.gradients[tensor.name] = tensor.gradient;
  }
  return passes;
}

void expect_oracle(const LayerOracle& oracle, const Network& network, RandomStream& random) {
  const Layer& layer = network.layers.front();
  at::Tensor input;
  at::Tensor slope;
  std::map<std::string, at::Tensor> tensors;
  const Passes passes = ours(network, random, 3, input, slope, tensors);
  tensors["input"] = input.to(at::kDouble);
  for (auto& [name, tensor] : tensors) tensor.set_requires_grad(true);
  const at::Tensor output = oracle.define(layer, tensors);
  EXPECT_EQ(output.sizes().slice(1),
            (at::IntArrayRef{layer.output.channels, layer.output.height, layer.output.width}));
  const double scale = size_of(output);
  expect_near(passes.output, output.detach(), scale, "output");
  expect_near(passes.inference, output.detach(), scale, "output of evaluation mode");
  if (output.requires_grad()) output.backward(slope.to(at::kDouble));
  // The gradient of the biases of keys is a difference of large terms: 0, except for rounding.
  std::map<std::string, at::Tensor> expected;
  double largest = 0;
  for (const auto& [name, gradient] : passes.gradients) {
    const at::Tensor& slope_by_it = tensors[name].grad();
    expected[name] = slope_by_it.defined() ? slope_by_it : at::zeros_like(tensors[name]);
    largest = std::max(largest, size_of(expected[name]));
  }
  for (const auto& [name, gradient] : passes.gradients) {
    expect_near(gradient.defined() ? gradient : at::zeros_like(tensors[name]), expected[name], largest,
                "gradient of " + name);
  }
}

TEST(LayerKinds, AgreeWithIndependentDefinitionsInDoublePrecision) {
  at::set_num_threads(1);
  RandomStream random(31);
  for (const LayerOracle& oracle : oracles()) {
    for (int i = 0; i < 12; ++i) {
      const Network network = alone(oracle, random);
      SCOPED_TRACE(network.canonical_text());
      expect_oracle(oracle, network, random);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(LayerKinds, AllHaveAnOpAndAnOracle) {
  std::vector<std::string> known{"add", "batch_norm", "concat", "dropout", "multiply", "stochastic_depth"};
  for (const LayerOracle& oracle : oracles()) known.push_back(oracle.kind);
  std::ranges::sort(known);
  EXPECT_EQ(known, space::layer_kind_names());
  for (const std::string& kind : space::layer_kind_names()) {
    EXPECT_TRUE(std::ranges::count(layer_op_kinds(), kind) == 1) << kind;
  }
}

TEST(LayerKinds, ComputeAboutTheSameInBfloat16) {
  at::set_num_threads(1);
  for (const LayerOracle& oracle : oracles()) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto passes = [&](bool bfloat16) {
        RandomStream random(seed);
        const Network network = alone(oracle, random);
        at::Tensor input;
        at::Tensor slope;
        std::map<std::string, at::Tensor> tensors;
        return ours(network, random, 3, input, slope, tensors, bfloat16);
      };
      const Passes half = passes(true);
      const Passes full = passes(false);
      const double bound = 0.05 * std::max(1.0, size_of(full.output));
      EXPECT_LE(size_of(half.output.to(at::kFloat).sub(full.output)), bound) << oracle.kind;
      EXPECT_LE(size_of(half.inference.to(at::kFloat).sub(full.inference)), bound) << oracle.kind;
      for (const auto& [name, gradient] : half.gradients) {
        if (!gradient.defined()) continue;
        EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << oracle.kind << ' ' << name;
        EXPECT_TRUE(name == "input" || gradient.scalar_type() == at::kFloat) << oracle.kind << ' ' << name;
      }
    }
  }
}

TEST(LayerKinds, BearAPartOfABatchWithoutSamples) {
  RandomStream random(5);
  for (const LayerOracle& oracle : oracles()) {
    const Network network = alone(oracle, random);
    SCOPED_TRACE(network.canonical_text());
    at::Tensor input;
    at::Tensor slope;
    std::map<std::string, at::Tensor> tensors;
    const Passes passes = ours(network, random, 0, input, slope, tensors);
    for (const auto& [name, gradient] : passes.gradients) {
      if (name == "input" || !gradient.defined()) continue;
      EXPECT_EQ(gradient.abs().sum().item<double>(), 0) << name;
    }
  }
}

TEST(LayerKinds, PassTheirValuesOnToTheSameLayerOfAChildAndBearAnotherWidth) {
  RandomStream random(9);
  for (const LayerOracle& oracle : oracles()) {
    const Network parent = alone(oracle, random);
    const Network other = alone(oracle, random);
    SCOPED_TRACE(parent.canonical_text() + other.canonical_text());
    const auto trained = ParameterStore(parent, 1).export_tensors();
    const auto inherited =
        inherit_weights(parent, trained, parent, ParameterStore(parent, 2).export_tensors());
    ASSERT_EQ(inherited.size(), trained.size());
    for (std::size_t t = 0; t < trained.size(); ++t) EXPECT_EQ(inherited[t].values, trained[t].values);
    EXPECT_NO_THROW(inherit_weights(parent, trained, other, ParameterStore(other, 2).export_tensors()));
  }
}

TEST(StochasticDepth, LeavesOutWholeSamplesByTheirPlaceInTheBatch) {
  const WithoutAutograd no_autograd;
  const Layer layer = make_layer("stochastic_depth", {{"probability", 0.5}}, {{3, 2, 2}});
  Network network{.input = {3, 2, 2}, .classes = 0, .layers = {layer}, .cost = {}};
  const auto accelerator = make_host_accelerator(Kernels::kOwn);
  ParameterStore parameters(network, 5);
  const at::Tensor seeds = at::tensor(std::vector<std::int64_t>{7});
  const auto kept = [&](std::int64_t first, std::int64_t samples) {
    DevicePlace place{.accelerator = accelerator.get(), .drawing_layers = {layer.name}, .seeds = seeds};
    place.first_sample = first;
    const auto op = make_graph_op(layer, parameters.layer(0), place).op;
    const at::Tensor ones = at::ones({samples, 3, 2, 2});
    const at::Tensor output = op->forward({ones});
    EXPECT_TRUE(op->infer({ones}).equal(ones));
    EXPECT_TRUE(op->backward(ones.clone(), true).at(0).equal(output));
    const at::Tensor by_sample = output.flatten(1);
    EXPECT_TRUE(by_sample.amax(1).equal(by_sample.amin(1))) << "a sample as a whole";
    return by_sample.select(1, 0).contiguous();
  };
  const at::Tensor all = kept(0, 64);
  EXPECT_TRUE(all.eq(0).logical_or(all.eq(2)).all().item<bool>());
  EXPECT_NEAR(all.mean().item<double>(), 1, 0.4);
  EXPECT_TRUE(kept(0, 64).equal(all)) << "the same seed";
  EXPECT_TRUE(kept(24, 40).equal(all.narrow(0, 24, 40))) << "a member's part of the batch";
}

TEST(Initializers, AreThoseThatPyTorchHasForTheKinds) {
  const Layer embedding = make_layer(
      "patch_embedding", {{"channels", std::int64_t{32}}, {"patch", std::int64_t{4}}}, {{3, 64, 64}});
  const Network network{.input = {3, 64, 64}, .classes = 0, .layers = {embedding}, .cost = {}};
  const auto position = ParameterStore(network, 3).export_tensors().at(2).values;
  double squares = 0;
  for (const float value : position) squares += static_cast<double>(value) * static_cast<double>(value);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(position.size())), 0.02, 0.001);
  EXPECT_LE(*std::ranges::max_element(position), 0.12F);
  const Layer attention = make_layer("multi_head_self_attention", {{"heads", std::int64_t{2}}}, {{24, 1, 4}});
  const Network second{.input = {24, 1, 4}, .classes = 0, .layers = {attention}, .cost = {}};
  const auto query = ParameterStore(second, 3).export_tensors().at(0).values;
  const double bound = std::sqrt(6.0 / 48);
  EXPECT_LE(*std::ranges::max_element(query), bound);
  EXPECT_GT(*std::ranges::max_element(query), 0.97 * bound);
  const Layer prelu = make_layer("prelu", {}, {{3, 4, 4}});
  const Network third{.input = {3, 4, 4}, .classes = 0, .layers = {prelu}, .cost = {}};
  EXPECT_EQ(ParameterStore(third, 3).export_tensors().at(0).values, std::vector<float>{0.25F});
}

}  // namespace
}  // namespace skyline::train
