// Shapes, tensors, costs and refusals of the kinds beside those of a plain CNN.
#include "skyline/space/layer_kind.hpp"

#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::ElementsAre;

const DataShape kFamilyImages{{6, 16, 12}, 0};
const DataShape kSequences{{6, 1, 20}, 0};

Layer last_layer(const std::string& list, const DataShape& data = kFamilyImages) {
  return network_from_yaml(list, data).layers.back();
}
Shape end_of(const std::string& list, const DataShape& data = kFamilyImages) {
  return last_layer(list, data).output;
}
/// What follows the layer's name in the refusal.
std::string refusal(const std::string& list, const DataShape& data = kFamilyImages) {
  const std::string message = user_error_of([&] { network_from_yaml(list, data); });
  const std::size_t layer = message.find("layer ");
  return layer == std::string::npos ? message : message.substr(message.find(": ", layer) + 2);
}

TEST(Convolutions, HaveDilationAndGroups) {
  EXPECT_EQ(end_of("[{conv2d: {channels: 4, kernel: 3, dilation: 2}}]"), (Shape{4, 16, 12}));
  EXPECT_EQ(end_of("[{conv2d: {channels: 4, kernel: 3, dilation: 2, padding: 0}}]"), (Shape{4, 12, 8}));
  const Layer grouped = last_layer("[{conv2d: {channels: 4, kernel: 3, groups: 2}}]");
  EXPECT_THAT(grouped.tensors[0].dims, ElementsAre(4, 3, 3, 3));
  EXPECT_EQ(grouped.tensors[0].fan_in, 27);
  EXPECT_EQ(grouped.cost.macs, 4 * 27 * 16 * 12);
  EXPECT_EQ(refusal("- conv2d: {channels: 4, kernel: 3, groups: 3}"),
            "groups 3 do not divide the 6 channels of the input and the 4 of the output");
  EXPECT_EQ(refusal("- conv2d: {channels: 4, kernel: 3, dilation: 9, padding: 1}"),
            "kernel 3 with dilation 9 is larger than its input 6x16x12 with padding 1");
}

TEST(Convolutions, LeaveOutAttributesThatDoNothingSoThatIdsStay) {
  EXPECT_EQ(network_from_yaml("[{conv2d: {channels: 4, kernel: 3, dilation: 1, groups: 1}}]", kFamilyImages)
                .canonical_text(),
            network_from_yaml("[{conv2d: {channels: 4, kernel: 3}}]", kFamilyImages).canonical_text());
  EXPECT_EQ(network_from_yaml("[{max_pool: {kernel: 2, padding: 0}}]", kFamilyImages).canonical_text(),
            "input 6x16x12\nmax_pool(kernel=2,stride=2) <- input\n");
}

TEST(Convolutions, DepthwiseWorksOnEachChannelAlone) {
  const Layer layer = last_layer("[{depthwise_conv2d: {kernel: 3, stride: 2}}]");
  EXPECT_EQ(layer.output, (Shape{6, 8, 6}));
  EXPECT_THAT(layer.tensors[0].dims, ElementsAre(6, 1, 3, 3));
  EXPECT_EQ(layer.tensors[0].fan_in, 9);
  EXPECT_EQ(layer.cost.parameters, 6 * 9 + 6);
  EXPECT_EQ(layer.cost.macs, 6 * 9 * 8 * 6);
  EXPECT_EQ(traits_of(layer).features, Features::kKept);
  EXPECT_FALSE(traits_of(layer).may_be_identity) << "stride 2";
  EXPECT_TRUE(traits_of(last_layer("[{depthwise_conv2d: {kernel: 3}}]")).may_be_identity);
}

TEST(Convolutions, SeparableIsADepthwiseOneAndAMixOfChannels) {
  const Layer layer = last_layer("[{separable_conv2d: {channels: 4, kernel: 3, bias: false}}]");
  EXPECT_EQ(layer.output, (Shape{4, 16, 12}));
  EXPECT_THAT(layer.tensors[0].dims, ElementsAre(6, 1, 3, 3));
  EXPECT_THAT(layer.tensors[1].dims, ElementsAre(4, 6, 1, 1));
  EXPECT_EQ(layer.cost.macs, (6 * 9 + 4 * 6) * 16 * 12);
  EXPECT_EQ(layer.inner_elements, 6 * 16 * 12);
}

TEST(Convolutions, OfSequencesSlideAlongThem) {
  const Layer layer = last_layer("[{conv1d: {channels: 4, kernel: 5, stride: 2, groups: 2}}]", kSequences);
  EXPECT_EQ(layer.output, (Shape{4, 1, 10}));
  EXPECT_THAT(layer.tensors[0].dims, ElementsAre(4, 3, 5));
  EXPECT_EQ(layer.tensors[0].fan_in, 15);
  EXPECT_EQ(refusal("- conv1d: {channels: 4, kernel: 3}"),
            "expected a sequence C x 1 x L, got 6x16x12; patch_embedding makes one of an image");
  EXPECT_EQ(refusal("- conv1d: {channels: 4, kernel: 25, padding: 0}", kSequences),
            "kernel 25 is larger than its input 6x1x20");
}

TEST(Pools, HaveWindowsOfHeightOneOnSequences) {
  EXPECT_EQ(end_of("[{max_pool: {kernel: 2}}]", kSequences), (Shape{6, 1, 10}));
  EXPECT_EQ(end_of("[{average_pool: {kernel: 3, stride: 2, padding: 1}}]", kSequences), (Shape{6, 1, 10}));
  EXPECT_EQ(end_of("[{adaptive_max_pool: {size: 7}}]", kSequences), (Shape{6, 1, 7}));
}

TEST(Pools, HavePaddingOfAtMostHalfTheirKernel) {
  EXPECT_EQ(end_of("[{average_pool: {kernel: 3, stride: 1, padding: 1}}]"), (Shape{6, 16, 12}));
  EXPECT_EQ(end_of("[{max_pool: {kernel: 3, stride: 2, padding: 1}}]"), (Shape{6, 8, 6}));
  EXPECT_EQ(refusal("- max_pool: {kernel: 3, padding: 2}"), "expected at most half of kernel 3, got 2");
}

TEST(Pools, AdaptTheirWindowsToTheSizeOfTheOutput) {
  EXPECT_EQ(end_of("[{adaptive_average_pool: {size: 5}}]"), (Shape{6, 5, 5}));
  EXPECT_EQ(end_of("[global_max_pool]"), (Shape{6, 1, 1}));
  EXPECT_EQ(refusal("- adaptive_average_pool: {size: 13}"), "size 13 is larger than its input 6x16x12");
}

TEST(Norms, OfSamplesHaveAScaleAndAShiftPerChannel) {
  EXPECT_EQ(last_layer("[layer_norm]").cost.parameters, 12);
  EXPECT_EQ(last_layer("[{group_norm: {groups: 3}}]").cost.parameters, 12);
  EXPECT_TRUE(last_layer("[instance_norm]").tensors.empty());
  EXPECT_EQ(last_layer("[{instance_norm: {affine: true}}]").tensors.size(), 2U);
  EXPECT_EQ(refusal("- group_norm: {groups: 4}"), "groups 4 do not divide the 6 channels of the input");
  EXPECT_EQ(refusal("- global_average_pool\n- group_norm: {groups: 6}"),
            "expected more than one value per group, got 6 groups of 6x1x1");
  EXPECT_EQ(refusal("- global_average_pool\n- instance_norm"),
            "expected more than one place per channel, got 6x1x1");
}

TEST(Activations, KeepTheShapeAndHaveDocumentedConstants) {
  for (const char* name : {"relu", "relu6", "leaky_relu", "prelu", "elu", "gelu", "silu", "hard_swish",
                           "hard_sigmoid", "sigmoid", "tanh", "softmax", "identity", "stochastic_depth"}) {
    const Layer layer = last_layer(std::string("[") + name + "]");
    EXPECT_EQ(layer.output, kFamilyImages.input) << name;
    EXPECT_EQ(traits_of(layer).features, Features::kKept) << name;
  }
  EXPECT_EQ(attribute_number(last_layer("[leaky_relu]"), "slope"), 0.01);
  EXPECT_EQ(attribute_number(last_layer("[elu]"), "alpha"), 1.0);
  EXPECT_EQ(last_layer("[prelu]").cost.parameters, 1);
  EXPECT_EQ(last_layer("[{prelu: {per_channel: true}}]").cost.parameters, 6);
  EXPECT_EQ(last_layer("[prelu]").tensors[0].initializer, Initializer::kQuarters);
  EXPECT_EQ(refusal("- leaky_relu: {slope: -1}"), "expected a number of at least 0, got -1");
}

TEST(Zero, DividesHeightAndWidthByItsStride) {
  EXPECT_EQ(end_of("[{zero: {stride: 5}}]"), (Shape{6, 4, 3}));
  EXPECT_EQ(traits_of(last_layer("[zero]")).zeros, Zeros::kAlways);
}

TEST(SqueezeExcitation, HasTwoSmallLayersBetweenTheMeansAndTheGates) {
  const Layer layer = last_layer("[{squeeze_excitation: {reduction: 4}}]");
  EXPECT_THAT(layer.tensors[0].dims, ElementsAre(1, 6));
  EXPECT_EQ(layer.cost.parameters, 6 + 1 + 6 + 6);
  EXPECT_EQ(layer.cost.macs, 12);
  EXPECT_THAT(last_layer("[{squeeze_excitation: {reduction: 100}}]").tensors[0].dims, ElementsAre(1, 6));
}

TEST(Attention, ReadsTheTokensThatPatchesBecome) {
  const Layer embedding = last_layer("[{patch_embedding: {channels: 8, patch: 4}}]");
  EXPECT_EQ(embedding.output, (Shape{8, 1, 12}));
  EXPECT_THAT(embedding.tensors[2].dims, ElementsAre(8, 12));
  EXPECT_EQ(embedding.tensors[2].initializer, Initializer::kNarrowNormal);
  EXPECT_EQ(embedding.cost.macs, 8 * 6 * 16 * 12);
  const Layer attention =
      last_layer("[{patch_embedding: {channels: 8, patch: 4}}, {multi_head_self_attention: {heads: 2}}]");
  EXPECT_EQ(attention.output, (Shape{8, 1, 12}));
  EXPECT_EQ(attention.cost.parameters, 4 * (64 + 8));
  EXPECT_EQ(attention.cost.macs, 4 * 64 * 12 + 2 * 8 * 12 * 12);
  EXPECT_EQ(attention.cost.peak_activation_bytes, 4 * (2 * 96 + 4 * 96 + 2 * 2 * 144));
  EXPECT_EQ(end_of("[{patch_embedding: {channels: 8, patch: 5, position: false}}]", kSequences),
            (Shape{8, 1, 4}));
}

TEST(Attention, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal("- patch_embedding: {channels: 8, patch: 5}"),
            "patch 5 does not divide its input 6x16x12");
  EXPECT_EQ(refusal("- multi_head_self_attention: {heads: 2}"),
            "expected a sequence C x 1 x L, got 6x16x12; patch_embedding makes one of an image");
  EXPECT_EQ(refusal("- multi_head_self_attention: {heads: 4}", kSequences),
            "heads 4 do not divide the 6 channels of the input");
}

}  // namespace
}  // namespace skyline::space
