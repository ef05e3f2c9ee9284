#include "skyline/space/layer_kind.hpp"

#include "skyline/core/error.hpp"

#include "space/space_from_yaml.hpp"
#include "support/map_reader.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::ElementsAre;

const DataShape kImages{{3, 32, 30}, 0};  // 0 classes: the network may end anywhere

Shape output_of(const std::string& list) {
  return network_from_yaml(list, kImages).layers.back().output;
}
std::string layer_error(const std::string& list) {
  return user_error_of([&] { network_from_yaml(list, kImages); });
}

TEST(LayerKind, AllKindsAreRegistered) {
  EXPECT_THAT(layer_kind_names(),
              ElementsAre("adaptive_average_pool", "adaptive_max_pool", "add", "average_pool", "batch_norm",
                          "concat", "conv1d", "conv2d", "depthwise_conv2d", "dropout", "elu", "flatten",
                          "gelu", "global_average_pool", "global_max_pool", "group_norm", "hard_sigmoid",
                          "hard_swish", "identity", "instance_norm", "layer_norm", "leaky_relu", "linear",
                          "max_pool", "multi_head_self_attention", "multiply", "patch_embedding", "prelu",
                          "relu", "relu6", "separable_conv2d", "sigmoid", "silu", "softmax",
                          "squeeze_excitation", "stochastic_depth", "tanh", "zero"));
  EXPECT_EQ(find_layer_kind("conv3d"), nullptr);
  EXPECT_EQ(find_layer_kind("conv2d")->name(), "conv2d");
}

TEST(LayerKind, ASecondKindOfOneNameIsOurBug) {
  class Again final : public LayerKind {
   public:
    std::string_view name() const override { return "relu"; }
    void read_attributes(Layer& /*layer*/, AttributeReader& /*reader*/) const override {}
    void infer(Layer& /*layer*/, AttributeReader& /*reader*/) const override {}
  };
  EXPECT_THROW(register_layer_kind(std::make_unique<Again>()), InternalError);
}

TEST(LayerKind, ListsTheAttributesThatItAcceptsWithTheirBounds) {
  std::map<std::string, LayerAttribute> attributes;
  for (const LayerAttribute& each : attributes_of(*find_layer_kind("conv2d"))) attributes[each.name] = each;
  ASSERT_EQ(attributes.size(), 7U);
  EXPECT_TRUE(attributes["kernel"].required);
  EXPECT_EQ(attributes["kernel"].expected, "a whole number of at least 1, or [height, width]");
  EXPECT_EQ(attributes["padding"].expected, "`same` or a whole number of at least 0, or [height, width]");
  EXPECT_FALSE(attributes["padding"].required);
  EXPECT_EQ(attributes["bias"].expected, "true or false");
  EXPECT_TRUE(attributes["kernel"].fallback.is_null());
  EXPECT_EQ(attributes["stride"].fallback.as_text(), "1");
  EXPECT_EQ(attributes["padding"].fallback.as_text(), "same");
  EXPECT_EQ(attributes["bias"].fallback.as_text(), "true");
  const std::vector<LayerAttribute> dropout = attributes_of(*find_layer_kind("dropout"));
  ASSERT_EQ(dropout.size(), 1U);
  EXPECT_EQ(dropout[0].schema.at("exclusiveMaximum").as_number(), 1);
  EXPECT_TRUE(attributes_of(*find_layer_kind("relu")).empty());
}

TEST(LayerKind, ListsNoDefaultThatFollowsFromAnotherAttribute) {
  const std::vector<LayerAttribute> pool = attributes_of(*find_layer_kind("max_pool"));
  ASSERT_EQ(pool.size(), 3U);
  EXPECT_EQ(pool[1].name, "stride");
  EXPECT_FALSE(pool[1].required);
  EXPECT_TRUE(pool[1].fallback.is_null()) << "it is the kernel";
}

TEST(Conv2d, ShapesFollowKernelStrideAndPadding) {
  EXPECT_EQ(output_of("[{conv2d: {channels: 8, kernel: 3}}]"), (Shape{8, 32, 30}));
  EXPECT_EQ(output_of("[{conv2d: {channels: 8, kernel: 3, padding: 0}}]"), (Shape{8, 30, 28}));
  EXPECT_EQ(output_of("[{conv2d: {channels: 8, kernel: 4, padding: 1}}]"), (Shape{8, 31, 29}));
  EXPECT_EQ(output_of("[{conv2d: {channels: 8, kernel: 3, stride: 2}}]"), (Shape{8, 16, 15}));
  EXPECT_EQ(output_of("[{conv2d: {channels: 8, kernel: 5, stride: 3, padding: same}}]"), (Shape{8, 11, 10}));
}

TEST(Conv2d, TensorsAreTheOnesOfPyTorch) {
  const Network network = network_from_yaml("[{conv2d: {channels: 8, kernel: 3}}]", kImages);
  const std::vector<TensorSpec>& tensors = network.layers[0].tensors;
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].name, "weight");
  EXPECT_THAT(tensors[0].dims, ElementsAre(8, 3, 3, 3));
  EXPECT_EQ(tensors[0].elements(), 216);
  EXPECT_EQ(tensors[1].name, "bias");
  EXPECT_THAT(tensors[1].dims, ElementsAre(8));
  for (const TensorSpec& tensor : tensors) {
    EXPECT_EQ(tensor.initializer, Initializer::kKaimingUniform);
    EXPECT_EQ(tensor.fan_in, 27);
    EXPECT_TRUE(tensor.trainable);
  }
  EXPECT_EQ(network_from_yaml("[{conv2d: {channels: 8, kernel: 3, bias: false}}]", kImages)
                .layers[0]
                .tensors.size(),
            1U);
}

TEST(Conv2d, AttributesAreCompleteAndPaddingIsANumber) {
  const Network network = network_from_yaml("[{conv2d: {channels: 8, kernel: 5}}]", kImages);
  const Layer& layer = network.layers[0];
  EXPECT_EQ(attribute_integer(layer, "padding"), 2);
  EXPECT_EQ(attribute_integer(layer, "stride"), 1);
  EXPECT_TRUE(attribute_flag(layer, "bias"));
  EXPECT_EQ(layer.attributes.size(), 5U);
  EXPECT_THROW(attribute_integer(layer, "groups"), InternalError);
  EXPECT_THROW(attribute_number(layer, "kernel"), InternalError);
}

TEST(Attributes, AreInAlphabeticalOrderHoweverTheyCame) {
  std::map<std::string, Value> expected;
  Attributes upwards;
  Attributes downwards;
  for (char name = 'a'; name <= 'l'; ++name) {
    expected[std::string(1, name)] = upwards[std::string(1, name)] = std::int64_t{name};
    const auto mirrored = static_cast<char>('a' + 'l' - name);
    downwards[std::string(1, mirrored)] = std::int64_t{mirrored};
  }
  EXPECT_EQ(upwards, downwards);
  EXPECT_TRUE(std::ranges::equal(upwards, expected, [](const auto& left, const auto& right) {
    return left.first == right.first && left.second == right.second;
  }));
  upwards["a"] = true;
  EXPECT_EQ(upwards.size(), expected.size());
  EXPECT_NE(upwards, downwards);
  EXPECT_EQ(*upwards.find("a"), Value(true));
  EXPECT_EQ(upwards.find("m"), nullptr);
}

TEST(Attributes, CompareLikeMaps) {
  using Map = std::map<std::string, Value>;
  const std::vector<Map> maps{{},
                              {{"a", std::int64_t{1}}},
                              {{"a", std::int64_t{1}}, {"b", 0.5}},
                              {{"a", std::int64_t{2}}},
                              {{"a", 1.5}},
                              {{"b", false}}};
  const auto attributes_of_map = [](const Map& map) {
    Attributes attributes;
    for (const auto& [name, value] : map) attributes[name] = value;
    return attributes;
  };
  for (const Map& left : maps) {
    for (const Map& right : maps) {
      EXPECT_EQ(attributes_of_map(left) < attributes_of_map(right), left < right);
    }
  }
}

TEST(Conv2d, RefusesWhatDoesNotFit) {
  EXPECT_EQ(
      layer_error("- conv2d: {channels: 8, kernel: 33, padding: 0}"),
      "a.yaml:2:11: space.network[0].conv2d: layer conv2d_0: kernel 33 is larger than its input 3x32x30");
  EXPECT_EQ(layer_error("- conv2d: {channels: 8, kernel: 4}"),
            "a.yaml:2:11: space.network[0].conv2d: layer conv2d: same needs an odd kernel, got kernel 4");
  EXPECT_EQ(layer_error("- conv2d: {channels: 8, kernel: 3, padding: full}"),
            "a.yaml:2:45: space.network[0].conv2d.padding: layer conv2d: expected same or a whole number, "
            "got full");
  EXPECT_EQ(layer_error("- conv2d: {channels: 0, kernel: 3}"),
            "a.yaml:2:22: space.network[0].conv2d.channels: layer conv2d: expected a whole number of at "
            "least 1, got 0");
  EXPECT_EQ(layer_error("- conv2d: {channels: 8.5, kernel: 3}"),
            "a.yaml:2:22: space.network[0].conv2d.channels: layer conv2d: expected a whole number of at "
            "least 1, got 8.5");
  EXPECT_EQ(layer_error("- conv2d: {channels: 8, kernel: 3, bias: 1}"),
            "a.yaml:2:42: space.network[0].conv2d.bias: layer conv2d: expected true or false, got 1");
  EXPECT_EQ(layer_error("- conv2d: {channels: 8}"),
            "a.yaml:2:11: space.network[0].conv2d: layer conv2d: missing attribute `kernel`");
}

TEST(Conv2d, RefusesSizesThatWouldOverflow) {
  EXPECT_EQ(layer_error("- conv2d: {channels: 2000000, kernel: 3}"),
            "a.yaml:2:22: space.network[0].conv2d.channels: layer conv2d: expected a whole number of at most "
            "1048576, got 2000000");
  EXPECT_EQ(layer_error("- conv2d: {channels: 1000000, kernel: 1}\n- conv2d: {channels: 1000000, kernel: 1}"),
            "a.yaml:3:11: space.network[1].conv2d: layer conv2d_1: the layer is too large");
}

TEST(BatchNorm, HasTwoTrainedTensorsAndTwoBuffers) {
  const Network network = network_from_yaml("[batch_norm]", kImages);
  const Layer& layer = network.layers[0];
  EXPECT_EQ(layer.output, layer.input());
  ASSERT_EQ(layer.tensors.size(), 4U);
  EXPECT_EQ(layer.tensors[0].initializer, Initializer::kOnes);
  EXPECT_EQ(layer.tensors[1].initializer, Initializer::kZeros);
  EXPECT_EQ(layer.tensors[2].name, "running_mean");
  EXPECT_EQ(layer.tensors[3].name, "running_var");
  EXPECT_EQ(layer.tensors[3].initializer, Initializer::kOnes);
  EXPECT_FALSE(layer.tensors[2].trainable || layer.tensors[3].trainable);
  EXPECT_EQ(layer.cost.parameters, 6);
  EXPECT_DOUBLE_EQ(attribute_number(layer, "epsilon"), 1e-5);
  EXPECT_DOUBLE_EQ(attribute_number(layer, "momentum"), 0.1);
}

TEST(BatchNorm, RefusesImpossibleConstants) {
  EXPECT_EQ(
      layer_error("- batch_norm: {epsilon: 0}"),
      "a.yaml:2:25: space.network[0].batch_norm.epsilon: layer batch_norm: expected a number above 0, got 0");
  EXPECT_EQ(layer_error("- batch_norm: {momentum: 1.5}"),
            "a.yaml:2:26: space.network[0].batch_norm.momentum: layer batch_norm: expected a number from 0 "
            "to 1, got 1.5");
  EXPECT_EQ(layer_error("- batch_norm: {momentum: high}"),
            "a.yaml:2:26: space.network[0].batch_norm.momentum: layer batch_norm: expected a number from 0 "
            "to 1, got high");
}

TEST(Dropout, HasAProbabilityAndNothingElse) {
  const Layer layer = network_from_yaml("[{dropout: {probability: 0.25}}]", kImages).layers[0];
  EXPECT_EQ(layer.output, layer.input());
  EXPECT_TRUE(layer.tensors.empty());
  EXPECT_DOUBLE_EQ(attribute_number(layer, "probability"), 0.25);
  EXPECT_DOUBLE_EQ(attribute_number(network_from_yaml("[dropout]", kImages).layers[0], "probability"), 0.5);
  EXPECT_EQ(layer_error("- dropout: {probability: 1}"),
            "a.yaml:2:26: space.network[0].dropout.probability: layer dropout: expected a number of at least "
            "0 and below 1, got 1");
  EXPECT_EQ(layer_error("- dropout: {probability: -0.1}"),
            "a.yaml:2:26: space.network[0].dropout.probability: layer dropout: expected a number of at least "
            "0 and below 1, got -0.1");
}

TEST(MaxPool, StrideIsTheKernelUnlessGiven) {
  EXPECT_EQ(output_of("[{max_pool: {kernel: 2}}]"), (Shape{3, 16, 15}));
  EXPECT_EQ(output_of("[{max_pool: {kernel: 4}}]"), (Shape{3, 8, 7}));
  EXPECT_EQ(output_of("[{max_pool: {kernel: 3, stride: 2}}]"), (Shape{3, 15, 14}));
  EXPECT_EQ(
      layer_error("- max_pool: {kernel: 31}"),
      "a.yaml:2:13: space.network[0].max_pool: layer max_pool_0: kernel 31 is larger than its input 3x32x30");
}

Layer merged(const std::string& kind, std::vector<Shape> inputs) {
  Layer layer;
  layer.kind = kind;
  layer.input_shapes = std::move(inputs);
  skyline::testing::MapReader reader;
  find_layer_kind(kind)->infer(layer, reader);
  return layer;
}

std::string merge_error(const std::string& kind, const std::vector<Shape>& inputs) {
  return user_error_of([&] { merged(kind, inputs); });
}

TEST(Merges, MakeOneOutputOfSeveralInputs) {
  const Shape shape{3, 4, 5};
  EXPECT_EQ(merged("add", {shape, shape, shape}).output, shape);
  EXPECT_EQ(merged("add", {shape, shape, shape}).cost.flops, 2 * 60);
  EXPECT_EQ(merged("concat", {shape, {2, 4, 5}}).output, (Shape{5, 4, 5}));
  EXPECT_EQ(merged("concat", {shape, {2, 4, 5}}).cost.flops, 0);
  EXPECT_EQ(merged("multiply", {shape, {3, 1, 1}}).output, shape);
  EXPECT_EQ(merged("multiply", {shape, {3, 1, 1}}).cost.flops, 60);
}

TEST(Merges, RefuseWhatDoesNotFit) {
  EXPECT_EQ(merge_error("add", {{3, 4, 5}, {3, 4, 4}}), "expected inputs of one shape, got 3x4x5, 3x4x4");
  EXPECT_EQ(merge_error("concat", {{3, 4, 5}, {3, 4, 4}}),
            "expected inputs of one height and width, got 3x4x5, 3x4x4");
  EXPECT_EQ(merge_error("multiply", {{3, 4, 5}, {1, 4, 5}}),
            "expected an input and factors of its shape or of one value per channel, got 3x4x5, 1x4x5");
  EXPECT_EQ(layer_error("- relu\n- add"),
            "a.yaml:3:3: space.network[1]: layer add_0: expected two inputs or more, got 1");
}

TEST(Traits, AreGuessedByShapeWhereAKindIsSilent) {
  Layer layer;
  layer.kind = "of another program";
  layer.input_shapes = {{3, 4, 4}};
  layer.output = {3, 4, 4};
  EXPECT_EQ(traits_of(layer).features, Features::kKept);
  layer.tensors = {{"weight", {3, 3}, Initializer::kOnes, 0, true}};
  EXPECT_EQ(traits_of(layer).features, Features::kNew);
  EXPECT_FALSE(traits_of(layer).normalizes() || traits_of(layer).may_be_identity);
  EXPECT_TRUE(traits_of(layer).draws) << "two of them may differ";
}

TEST(FlatLayers, GlobalPoolFlattenAndLinearFitTogether) {
  EXPECT_EQ(output_of("[global_average_pool]"), (Shape{3, 1, 1}));
  EXPECT_EQ(output_of("[flatten]"), (Shape{2880, 1, 1}));
  EXPECT_EQ(output_of("[flatten, {linear: {features: 7}}]"), (Shape{7, 1, 1}));
  EXPECT_EQ(output_of("[flatten, {linear: {features: 7}}, relu, {linear: {features: 4}}]"), (Shape{4, 1, 1}));
}

TEST(Linear, NeedsAFlatInputAndSaysHow) {
  EXPECT_EQ(layer_error("- relu\n- linear: {features: 10}"),
            "a.yaml:3:11: space.network[1].linear: layer linear_0: expected a flat input, got 3x32x30; put "
            "global_average_pool or flatten before it");
}

TEST(Linear, BiasIsATensorOfItsOwn) {
  const Network network = network_from_yaml("[flatten, {linear: {features: 7, bias: false}}]", kImages);
  ASSERT_EQ(network.layers[1].tensors.size(), 1U);
  EXPECT_THAT(network.layers[1].tensors[0].dims, ElementsAre(7, 2880));
  EXPECT_EQ(network.layers[1].tensors[0].fan_in, 2880);
}

}  // namespace
}  // namespace skyline::space
