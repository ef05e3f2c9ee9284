// The steps that each layer kind says, and how norms and clamps join them.
#include "skyline/core/error.hpp"
#include "skyline/space/layer_kind.hpp"

#include "space/quantized/int8_network.hpp"
#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::ElementsAre;

const DataShape kInt8Images{{6, 16, 12}, 0};
const DataShape kInt8Sequences{{6, 1, 20}, 0};

Int8View view_of(const std::string& list, const DataShape& data = kInt8Images) {
  return int8_view(network_from_yaml(list, data));
}

/// Writes a step as one reads it: `conv(0) weight+bias /6 by 1 -> 4x8x6 [0,inf]`.
std::string text_of(const Int8View& view, const Int8Step& step) {
  static const std::map<Int8Op, std::string> names{{Int8Op::kConvolution, "conv"},
                                                   {Int8Op::kAdd, "add"},
                                                   {Int8Op::kMultiply, "multiply"},
                                                   {Int8Op::kConcat, "concat"},
                                                   {Int8Op::kMaxPool, "max_pool"},
                                                   {Int8Op::kAveragePool, "average_pool"},
                                                   {Int8Op::kMean, "mean"},
                                                   {Int8Op::kMaximum, "maximum"},
                                                   {Int8Op::kClamp, "clamp"},
                                                   {Int8Op::kSigmoid, "sigmoid"},
                                                   {Int8Op::kHardSigmoid, "hard_sigmoid"},
                                                   {Int8Op::kHardSwish, "hard_swish"},
                                                   {Int8Op::kTanh, "tanh"},
                                                   {Int8Op::kSoftmax, "softmax"},
                                                   {Int8Op::kView, "view"},
                                                   {Int8Op::kZeros, "zeros"},
                                                   {Int8Op::kAttention, "attention"},
                                                   {Int8Op::kLayer, "float"}};
  std::string text = names.at(step.op) + '(';
  for (const Int8Tensor input : step.inputs) text += (text.ends_with('(') ? "" : ",") + std::to_string(input);
  text += ')';
  if (!step.products.weight.empty()) text += ' ' + step.products.weight;
  if (!step.products.bias.empty()) text += '+' + step.products.bias;
  if (step.products.groups != 1) text += " /" + std::to_string(step.products.groups);
  for (const std::size_t norm : step.products.norms) text += " norm" + std::to_string(norm);
  if (!std::isinf(step.low) || !std::isinf(step.high)) {
    text += " [" + std::to_string(std::lround(step.low)) + "," +
            (std::isinf(step.high) ? "inf" : std::to_string(std::lround(step.high))) + "]";
  }
  return text + " -> " + to_text(view.tensors.at(step.output));
}

std::vector<std::string> texts_of(const std::string& list, const DataShape& data = kInt8Images) {
  const Int8View view = view_of(list, data);
  std::vector<std::string> texts;
  for (const Int8Step& step : view.steps) texts.push_back(text_of(view, step));
  EXPECT_EQ(view.tensors.size(), view.steps.size() + 1);
  EXPECT_EQ(view.output, view.steps.size()) << "the last step writes the output";
  return texts;
}

TEST(Int8View, ConvolutionsHaveTheirWindowsAndGroups) {
  EXPECT_THAT(texts_of("[{conv2d: {channels: 4, kernel: 3, stride: 2, groups: 2}}]"),
              ElementsAre("conv(0) weight+bias /2 -> 4x8x6"));
  EXPECT_THAT(texts_of("[{depthwise_conv2d: {kernel: 3, bias: false}}]"),
              ElementsAre("conv(0) weight /6 -> 6x16x12"));
  EXPECT_THAT(texts_of("[{separable_conv2d: {channels: 4, kernel: 3, stride: 2}}]"),
              ElementsAre("conv(0) depthwise_weight /6 -> 6x8x6", "conv(1) weight+bias -> 4x8x6"));
  EXPECT_THAT(texts_of("[{conv1d: {channels: 4, kernel: 3}}]", kInt8Sequences),
              ElementsAre("conv(0) weight+bias -> 4x1x20"));
  EXPECT_THAT(texts_of("[flatten, {linear: {features: 5}}]"),
              ElementsAre("view(0) -> 1152x1x1", "conv(1) weight+bias -> 5x1x1"));
  const Window window =
      view_of("[{conv1d: {channels: 4, kernel: 5, stride: 2}}]", kInt8Sequences).steps[0].products.window;
  EXPECT_EQ(window.kernel, (std::array<std::int64_t, 2>{1, 5}));
  EXPECT_EQ(window.stride, (std::array<std::int64_t, 2>{1, 2}));
  EXPECT_EQ(window.padding, (std::array<std::int64_t, 2>{0, 2}));
}

TEST(Int8View, ActivationsAreClampsFunctionsOrStayInFloat) {
  const std::map<std::string, std::string> of_one_step{
      {"relu", "clamp(0) [0,inf]"}, {"relu6", "clamp(0) [0,6]"}, {"hard_swish", "hard_swish(0)"},
      {"tanh", "tanh(0)"},          {"sigmoid", "sigmoid(0)"},   {"hard_sigmoid", "hard_sigmoid(0)"},
      {"softmax", "softmax(0)"},    {"gelu", "float(0)"},        {"elu", "float(0)"},
      {"leaky_relu", "float(0)"},   {"prelu", "float(0)"}};
  for (const auto& [kind, step] : of_one_step) {
    EXPECT_THAT(texts_of("[" + kind + "]"), ElementsAre(step + " -> 6x16x12"));
  }
  EXPECT_THAT(texts_of("[silu]"), ElementsAre("sigmoid(0) -> 6x16x12", "multiply(0,1) -> 6x16x12"));
}

TEST(Int8View, NormsOfASampleStayInFloat) {
  for (const char* norm : {"layer_norm", "group_norm: {groups: 2}", "instance_norm"}) {
    EXPECT_THAT(texts_of("[{" + std::string(norm) + (std::string(norm).ends_with('}') ? "" : ": {}") + "}]"),
                ElementsAre("float(0) -> 6x16x12"));
  }
}

TEST(Int8View, PoolsHaveOneWindowOrAllPlaces) {
  EXPECT_THAT(texts_of("[{max_pool: {kernel: 2}}]"), ElementsAre("max_pool(0) -> 6x8x6"));
  EXPECT_THAT(texts_of("[{average_pool: {kernel: 3, stride: 2, padding: 1}}]"),
              ElementsAre("average_pool(0) -> 6x8x6"));
  EXPECT_THAT(texts_of("[global_average_pool]"), ElementsAre("mean(0) -> 6x1x1"));
  EXPECT_THAT(texts_of("[global_max_pool]"), ElementsAre("maximum(0) -> 6x1x1"));
  EXPECT_THAT(texts_of("[{adaptive_average_pool: {size: 1}}]"), ElementsAre("mean(0) -> 6x1x1"));
  EXPECT_THAT(texts_of("[{adaptive_max_pool: {size: 4}}]"), ElementsAre("max_pool(0) -> 6x4x4"));
  EXPECT_THAT(texts_of("[{adaptive_max_pool: {size: 5}}]"), ElementsAre("float(0) -> 6x5x5"));
  const Window window = view_of("[{adaptive_average_pool: {size: 4}}]").steps[0].window;
  EXPECT_EQ(window.kernel, (std::array<std::int64_t, 2>{4, 3}));
  EXPECT_EQ(window.stride, window.kernel);
  const Window of_sequence = view_of("[{max_pool: {kernel: 2}}]", kInt8Sequences).steps[0].window;
  EXPECT_EQ(of_sequence.kernel, (std::array<std::int64_t, 2>{1, 2}));
}

TEST(Int8View, SumsAndProductsHaveTwoInputs) {
  EXPECT_THAT(texts_of("[{residual: [{conv2d: {channels: 6, kernel: 3}}]}]"),
              ElementsAre("conv(0) weight+bias -> 6x16x12", "add(1,0) -> 6x16x12"));
}

TEST(Int8View, SqueezeAndExcitationIsMeansProductsAndAGate) {
  EXPECT_THAT(texts_of("[{squeeze_excitation: {reduction: 3}}]"),
              ElementsAre("mean(0) -> 6x1x1", "conv(1) reduce_weight+reduce_bias [0,inf] -> 2x1x1",
                          "conv(2) expand_weight+expand_bias -> 6x1x1", "sigmoid(3) -> 6x1x1",
                          "multiply(0,4) -> 6x16x12"));
  EXPECT_THAT(texts_of("[{squeeze_excitation: {reduction: 3, hard: true}}]")[3], "hard_sigmoid(3) -> 6x1x1");
}

TEST(Int8View, AttentionIsFourProductsAroundWhatStaysInFloat) {
  const std::string list = "[{multi_head_self_attention: {heads: 2}}]";
  EXPECT_THAT(
      texts_of(list, kInt8Sequences),
      ElementsAre("conv(0) query_weight+query_bias -> 6x1x20", "conv(0) key_weight+key_bias -> 6x1x20",
                  "conv(0) value_weight+value_bias -> 6x1x20", "attention(1,2,3) -> 6x1x20",
                  "conv(4) weight+bias -> 6x1x20"));
  const Int8View view = view_of(list, kInt8Sequences);
  EXPECT_DOUBLE_EQ(view.steps[0].products.factor, 1 / std::sqrt(3.0));
  EXPECT_EQ(view.steps[1].products.factor, 1);
  EXPECT_EQ(view.steps[3].heads, 2);
  EXPECT_TRUE(view.steps[3].is_float());
}

TEST(Int8View, PatchesAreAConvolutionUnlessTheyHavePositions) {
  EXPECT_THAT(texts_of("[{patch_embedding: {channels: 8, patch: 4, position: false}}]"),
              ElementsAre("conv(0) weight+bias -> 8x4x3", "view(1) -> 8x1x12"));
  EXPECT_THAT(texts_of("[{patch_embedding: {channels: 8, patch: 4, position: false}}]", kInt8Sequences),
              ElementsAre("conv(0) weight+bias -> 8x1x5"));
  EXPECT_THAT(texts_of("[{patch_embedding: {channels: 8, patch: 4}}]"), ElementsAre("float(0) -> 8x1x12"));
}

TEST(Int8View, NormsAndClampsJoinTheProductsBeforeThem) {
  EXPECT_THAT(texts_of("[{conv2d: {channels: 4, kernel: 3}}, batch_norm, relu]"),
              ElementsAre("conv(0) weight+bias norm1 [0,inf] -> 4x16x12"));
  EXPECT_THAT(texts_of("[{conv2d: {channels: 4, kernel: 3}}, batch_norm, batch_norm, relu6, relu]"),
              ElementsAre("conv(0) weight+bias norm1 norm2 [0,6] -> 4x16x12"));
  EXPECT_THAT(texts_of("[{conv2d: {channels: 4, kernel: 3}}, dropout, batch_norm, stochastic_depth, relu]"),
              ElementsAre("conv(0) weight+bias norm2 [0,inf] -> 4x16x12"));
  EXPECT_THAT(texts_of("[{conv2d: {channels: 4, kernel: 3}}, relu, batch_norm]"),
              ElementsAre("conv(0) weight+bias [0,inf] -> 4x16x12", "conv(1) /4 norm2 -> 4x16x12"))
      << "a norm can't reach through a clamp";
  EXPECT_THAT(texts_of("[batch_norm, relu]"), ElementsAre("conv(0) /6 norm0 [0,inf] -> 6x16x12"));
  EXPECT_THAT(texts_of("[{max_pool: {kernel: 2}}, relu]"),
              ElementsAre("max_pool(0) -> 6x8x6", "clamp(1) [0,inf] -> 6x8x6"));
  EXPECT_THAT(texts_of("[{residual: [{conv2d: {channels: 6, kernel: 3}}, batch_norm]}, relu]"),
              ElementsAre("conv(0) weight+bias norm1 -> 6x16x12", "add(1,0) [0,inf] -> 6x16x12"));
}

TEST(Int8View, NothingJoinsAStepThatOthersRead) {
  EXPECT_THAT(texts_of("[{conv2d: {channels: 6, kernel: 3}}, {residual: [batch_norm, relu]}]"),
              ElementsAre("conv(0) weight+bias -> 6x16x12", "conv(1) /6 norm1 [0,inf] -> 6x16x12",
                          "add(1,2) -> 6x16x12"));
}

TEST(Int8View, ANetworkThatOnlyForwardsHasNoSteps) {
  const Int8View view = view_of("[dropout, {max_pool: {kernel: 1}}]");
  EXPECT_TRUE(view.steps.empty());
  EXPECT_EQ(view.output, 0U);
}

Layer layer_of(const std::string& kind, std::vector<std::size_t> inputs) {
  Layer layer;
  layer.name = kind + "_0";
  layer.kind = kind;
  layer.inputs = std::move(inputs);
  layer.input_shapes.assign(std::max<std::size_t>(1, layer.inputs.size()), {6, 4, 4});
  layer.output = {6, 4, 4};
  return layer;
}
Network network_of(std::vector<Layer> layers) {
  Network network;
  network.input = {6, 4, 4};
  network.layers = std::move(layers);
  return network;
}

TEST(Int8View, WhatOnlyAZeroReadsIsLeftOut) {
  const Network network = network_of(
      {layer_of("batch_norm", {}), layer_of("zero", {0}), layer_of("tanh", {}), layer_of("add", {1, 2})});
  const Int8View view = int8_view(network);
  ASSERT_EQ(view.steps.size(), 3U);
  EXPECT_EQ(view.steps[0].op, Int8Op::kZeros);
  EXPECT_TRUE(view.steps[0].inputs.empty());
  EXPECT_THAT(view.steps[2].inputs, ElementsAre(1, 2));
}

TEST(Int8View, ChainsThreeInputsTwoByTwo) {
  const Network network =
      network_of({layer_of("tanh", {}), layer_of("sigmoid", {}), layer_of("hard_swish", {}),
                  layer_of("add", {0, 1, 2}), layer_of("relu", {3})});
  const Int8View view = int8_view(network);
  ASSERT_EQ(view.steps.size(), 5U);
  EXPECT_THAT(view.steps[3].inputs, ElementsAre(1, 2));
  EXPECT_THAT(view.steps[4].inputs, ElementsAre(4, 3));
  EXPECT_EQ(view.steps[3].high, std::numeric_limits<double>::infinity());
  EXPECT_EQ(view.steps[3].low, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(view.steps[4].low, 0) << "the clamp joins the last sum";
}

TEST(Int8View, RefusesAKindThatSaysNothing) {
  const Network network = network_of({layer_of("tanh", {}), layer_of("my_norm", {0})});
  EXPECT_EQ(user_error_of([&] { int8_view(network); }),
            "int8: layer kind my_norm of my_norm_0 says no int8 steps; write its LayerKind::int8, or leave "
            "the layer out");
}

}  // namespace
}  // namespace skyline::space
