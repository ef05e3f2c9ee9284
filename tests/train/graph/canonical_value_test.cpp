// The canonical form of a network computes the same, with the same gradients, from the same weights.
#include "skyline/core/random.hpp"
#include "skyline/space/search_space.hpp"

#include "space/network/canonical_form.hpp"
#include "support/graph_builder.hpp"
#include "support/nas_bench_201.hpp"
#include "support/yaml_config.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/graph/layer_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using skyline::testing::GraphBuilder;
using space::Layer;
using space::Network;
namespace nas_bench_201 = skyline::testing::nas_bench_201;

/// Weights in double precision by the mark of their layer and their name.
using MarkedWeights = std::map<std::pair<std::int64_t, std::string>, at::Tensor>;

at::Tensor drawn(RandomStream& random, at::IntArrayRef dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = 0.2 + 2 * random.uniform() - 1;
  return at::tensor(values, at::kDouble).view(dims);
}

/// Marks the layers with tensors by an attribute that nobody reads, and draws their values.
MarkedWeights mark(Network& network, RandomStream& random) {
  MarkedWeights weights;
  std::int64_t next = 0;
  for (Layer& layer : network.layers) {
    if (layer.tensors.empty()) continue;
    layer.attributes["mark"] = next;
    for (const space::TensorSpec& spec : layer.tensors) {
      at::Tensor value = drawn(random, spec.dims);
      if (!spec.trainable) value = value.square().add(0.1);
      weights[{next, spec.name}] = value.set_requires_grad(spec.trainable);
    }
    ++next;
  }
  return weights;
}

/// The output of the definitions of the layers, one after the other.
at::Tensor output_of(const Network& network, const MarkedWeights& weights, const at::Tensor& input) {
  const auto accelerator = make_host_accelerator(Kernels::kOwn);
  DevicePlace place{.accelerator = accelerator.get()};
  ParameterStore store(network, 1);
  std::vector<at::Tensor> outputs;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const auto op = make_graph_op(layer, store.layer(i), place).op;
    for (StoredTensor& tensor : store.layer(i).tensors()) {
      tensor.value = weights.at({attribute_integer(layer, "mark"), tensor.name});
    }
    Activations inputs;
    for (const std::size_t source : layer.inputs) inputs.push_back(outputs[source]);
    if (inputs.empty()) inputs.push_back(input);
    outputs.push_back(op->reference(inputs, false));
  }
  return outputs.back();
}

std::vector<at::Tensor> gradients_of(const at::Tensor& output, const at::Tensor& slope,
                                     MarkedWeights& weights) {
  if (output.requires_grad()) output.backward(slope);
  std::vector<at::Tensor> gradients;
  for (auto& [key, value] : weights) {
    gradients.push_back(value.grad().defined() ? value.grad().clone() : at::zeros_like(value));
    value.mutable_grad() = at::Tensor();
  }
  return gradients;
}

/// @param adds_in_one_order  whether not even the rounding may differ
void expect_same_value(Network network, RandomStream& random, bool adds_in_one_order = false) {
  MarkedWeights weights = mark(network, random);
  const Network form = canonical_form(network);
  SCOPED_TRACE(network.canonical_text() + "became\n" + form.canonical_text());
  const at::Tensor input =
      drawn(random, {3, network.input.channels, network.input.height, network.input.width});
  const at::Tensor expected = output_of(network, weights, input);
  const at::Tensor slope = drawn(random, expected.sizes());
  const auto expected_gradients = gradients_of(expected, slope, weights);
  const at::Tensor got = output_of(form, weights, input);
  ASSERT_EQ(got.sizes(), expected.sizes());
  const auto gradients = gradients_of(got, slope, weights);
  EXPECT_LT(got.sub(expected).abs().max().item<double>(), 1e-10);
  if (adds_in_one_order) {
    EXPECT_TRUE(got.equal(expected));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double scale = std::max(1.0, expected_gradients[i].abs().max().item<double>());
    EXPECT_LT(gradients[i].sub(expected_gradients[i]).abs().max().item<double>(), 1e-10 * scale);
  }
}

TEST(CanonicalValue, OfNasBench201sCellsIsThatOfTheCell) {
  at::set_num_threads(1);
  RandomStream random(11);
  for (int i = 0; i < 200; ++i) {
    const auto genotype = nas_bench_201::genotype_at(random.below(nas_bench_201::kGenotypes));
    expect_same_value(nas_bench_201::small_network(genotype, i % 2 == 0), random);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CanonicalValue, IsTheSameBitForBitWhereNoSumChanges) {
  RandomStream random(12);
  const skyline::testing::AttributeValues window{
      {"channels", std::int64_t{4}}, {"kernel", std::int64_t{3}}, {"padding", std::int64_t{1}}};
  GraphBuilder builder({4, 5, 5});
  const std::size_t stem = builder.add("conv2d", {}, window);
  builder.add("batch_norm", {builder.add("conv2d", {stem}, window)});  // dead
  const std::size_t same =
      builder.add("max_pool", {builder.add("identity", {stem})}, {{"kernel", std::int64_t{1}}});
  const std::size_t zero = builder.add("tanh", {builder.add("zero", {stem})});
  const std::size_t left = builder.add("add", {builder.add("relu", {same}), zero});
  const std::size_t right = builder.add("batch_norm", {builder.add("relu", {stem})});
  const std::size_t gate = builder.add("multiply", {left, builder.add("global_average_pool", {right})});
  const std::size_t joined =
      builder.add("concat", {gate, builder.add("average_pool", {zero}, {{"kernel", std::int64_t{1}}})});
  builder.add("linear", {builder.add("flatten", {builder.add("global_max_pool", {joined})})},
              {{"features", std::int64_t{3}}});
  expect_same_value(builder.build(), random, true);
}

TEST(CanonicalValue, OfMergesThatReadTheNetworksInputIsThatOfTheirFormulas) {
  RandomStream random(14);
  const auto config = skyline::testing::config_from_yaml(R"(
network:
  - residual: [{conv2d: {channels: 2, kernel: 3}}, tanh]
  - {concat: , from: [input, previous]}
  - {conv2d: {channels: 2, kernel: 1, bias: false}}
  - {multiply: , from: [previous, input, previous]}
)",
                                                         "a.yaml", "space");
  Network network = space::SearchSpace::parse(config, {{2, 5, 5}, 0}).build({}).network();
  MarkedWeights weights = mark(network, random);
  const at::Tensor input = drawn(random, {3, 2, 5, 5});
  const at::Tensor got = output_of(network, weights, input);
  const at::Tensor body = at::conv2d(input, weights.at({0, "weight"}), weights.at({0, "bias"}), 1, 1).tanh();
  const at::Tensor mixed = at::conv2d(at::cat({input, input.add(body)}, 1), weights.at({1, "weight"}));
  const at::Tensor expected = mixed.mul(input).mul(mixed);
  EXPECT_LT(got.sub(expected).abs().max().item<double>(), 1e-12);
  const at::Tensor slope = drawn(random, expected.sizes());
  const auto gradients = gradients_of(got, slope, weights);
  const auto expected_gradients = gradients_of(expected, slope, weights);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_LT(gradients[i].sub(expected_gradients[i]).abs().max().item<double>(), 1e-10);
  }
}

/// Adds a random layer of one that keeps shapes; they meet in sums, products and joins.
void add_random(GraphBuilder& builder, RandomStream& random) {
  static const std::vector<std::string> unary{"identity",      "zero",   "relu",       "tanh",
                                              "sigmoid",       "gelu",   "batch_norm", "layer_norm",
                                              "instance_norm", "dropout"};
  const auto pick = [&] { return random.below(builder.last() + 1); };
  const std::size_t first = pick();
  switch (random.below(5)) {
    case 0:
      builder.add("conv2d", {first},
                  {{"channels", std::int64_t{4}},
                   {"kernel", std::int64_t{3}},
                   {"padding", std::int64_t{1}},
                   {"bias", random.below(2) == 0}});
      return;
    case 1:
      builder.add("add", {first, pick(), pick()});
      return;
    case 2:
      builder.add("add", {first, pick()});
      return;
    case 3:
      builder.add("multiply", {first, pick()});
      return;
    default:
      builder.add(unary[random.below(unary.size())], {first});
  }
}

TEST(CanonicalValue, OfRandomNetworksIsTheirOwnValue) {
  at::set_num_threads(1);
  RandomStream random(13);
  for (int i = 0; i < 300; ++i) {
    GraphBuilder builder({4, 4, 4});
    const std::uint64_t layers = 2 + random.below(14);
    builder.add("identity", {});
    for (std::uint64_t k = 0; k < layers; ++k) add_random(builder, random);
    builder.add("tanh",
                {builder.add("add", {builder.last(), builder.last() / 2})});  // large values lose digits
    expect_same_value(builder.build(), random);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace skyline::train
