// Windows that differ in height and width.
#include "skyline/core/error.hpp"
#include "skyline/space/encoding.hpp"
#include "skyline/space/layer_kind.hpp"
#include "skyline/space/window.hpp"

#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const DataShape kTall{{6, 20, 9}, 0};  // 0 classes: the network may end anywhere
const DataShape kSequence{{6, 1, 20}, 0};

Layer layer_of(const std::string& item) {
  return network_from_yaml("[{" + item + "}]", kTall).layers.front();
}
std::string canonical(const std::string& item) {
  return network_from_yaml("[{" + item + "}]", kTall).canonical_text();
}
std::string refusal(const std::string& item, const DataShape& data = kTall) {
  return user_error_of([&] { network_from_yaml("- " + item, data); });
}

TEST(TwoSides, GiveAConvolutionItsShapesTensorsAndCosts) {
  const Layer stem =
      layer_of("conv2d: {channels: 4, kernel: [10, 4], stride: [2, 1], padding: [5, 1], groups: 2}");
  EXPECT_EQ(stem.output, (Shape{4, 11, 8}));
  EXPECT_THAT(stem.tensors[0].dims, ElementsAre(4, 3, 10, 4));
  EXPECT_EQ(stem.tensors[0].fan_in, 3 * 10 * 4);
  EXPECT_EQ(stem.cost.macs, 4 * 3 * 10 * 4 * 11 * 8);
  EXPECT_FALSE(traits_of(stem).may_be_identity);
  const Layer dilated = layer_of("depthwise_conv2d: {kernel: [3, 1], dilation: [2, 1]}");
  EXPECT_EQ(dilated.output, kTall.input) << "same: 2 above and below, 0 on the left and right";
  EXPECT_EQ(Window::of(dilated, false).padding, (Sides{2, 0}));
  EXPECT_TRUE(traits_of(dilated).may_be_identity);
  EXPECT_FALSE(traits_of(layer_of("depthwise_conv2d: {kernel: [3, 1], padding: [1, 1]}")).may_be_identity);
  const Layer separable = layer_of("separable_conv2d: {channels: 5, kernel: [1, 3], stride: [1, 2]}");
  EXPECT_EQ(separable.output, (Shape{5, 20, 5}));
  EXPECT_THAT(separable.tensors[0].dims, ElementsAre(6, 1, 1, 3));
}

TEST(TwoSides, GiveAPoolItsShape) {
  EXPECT_EQ(layer_of("max_pool: {kernel: [4, 1]}").output, (Shape{6, 5, 9})) << "the stride is the kernel";
  EXPECT_EQ(layer_of("average_pool: {kernel: [2, 3], stride: [2, 1], padding: [1, 0]}").output,
            (Shape{6, 11, 7}));
  EXPECT_EQ(network_from_yaml("[{max_pool: {kernel: [1, 2]}}]", kSequence).layers.front().output,
            (Shape{6, 1, 10}));
}

TEST(TwoSides, ThatAreEqualAreTheOneNumber) {
  EXPECT_EQ(
      canonical("conv2d: {channels: 4, kernel: [3, 3], stride: [2, 2], padding: [1, 1], dilation: [1, 1]}"),
      canonical("conv2d: {channels: 4, kernel: 3, stride: 2}"));
  EXPECT_EQ(canonical("max_pool: {kernel: [2, 2], padding: [0, 0]}"), canonical("max_pool: {kernel: 2}"));
  EXPECT_EQ(canonical("conv2d: {channels: 4, kernel: [3, 1]}"),
            "input 6x20x9\nconv2d(bias=true,channels=4,kernel=[3, 1],padding=[1, 0],stride=1) <- input\n");
}

TEST(TwoSides, AreSearchedAndCompared) {
  const SearchSpace space = space_from_yaml(
      "parameters:\n"
      "  kernel: {choice: [[3, 3], [10, 4], [3, 1]]}\n"
      "  height: {choice: [1, 2]}\n"
      "network:\n"
      "  - conv2d: {channels: 4, kernel: $kernel, padding: \"if($kernel == [10, 4], [5, 1], same)\"}\n"
      "  - max_pool: {kernel: [$height, 3]}\n"
      "where: $kernel != [3, 1] or $height == 2\n",
      kTall);
  EXPECT_EQ(space.count_kept(), 5);
  EXPECT_EQ(space.describe(Genotype{{1, 0}}), "kernel=[10, 4] height=1");
  const Architecture tall = space.build(Genotype{{1, 1}});
  EXPECT_EQ(tall.network().layers[0].output, (Shape{4, 21, 8}));
  EXPECT_EQ(tall.network().layers[1].output, (Shape{4, 10, 2}));
  EXPECT_EQ(encode(space, tall), (std::vector<double>{0, 1, 0, 1}))
      << "one number for each window, not an order";
  const std::vector<Feature> known = features(tall);
  EXPECT_EQ(std::ranges::count(known, "conv2d kernel=[10, 4]", &Feature::name), 1);
  EXPECT_EQ(neighbours(space, Genotype{{1, 1}}).size(), 3U);
}

TEST(TwoSides, AreConditionsInTheirWholeAndNotNumbers) {
  const std::string two = "parameters: {k: {choice: [3, [3, 1], [3, 3]]}, n: {choice: [1, 2]}}\n";
  const auto kept = [&](const std::string& where) {
    return space_from_yaml(two + "where: \"" + where + "\"\n", {}).count_kept().value();
  };
  EXPECT_EQ(kept("$k == [3, 1]"), 2);
  EXPECT_EQ(kept("$k in [[3, 3], 3]"), 4);
  EXPECT_EQ(kept("$k == 3"), 2);
  EXPECT_EQ(kept("not ($k == [3, 3] and $n == 1)"), 5);
  EXPECT_THAT(user_error_of([&] { kept("$k > 2"); }),
              HasSubstr("cannot calculate with `$k`, which may be [3, 1]"));
  EXPECT_THAT(user_error_of([&] { kept("$k == [1, 3]"); }), HasSubstr("`$k` is never [1, 3], "));
}

TEST(TwoSides, OfAStrideInAResidualAreThoseOfItsProjection) {
  const Network network =
      network_from_yaml("[{residual: [{depthwise_conv2d: {kernel: 3, stride: [2, 1]}}]}]", kTall);
  const auto projection = std::ranges::find(network.layers, "conv2d", &Layer::kind);
  ASSERT_NE(projection, network.layers.end());
  EXPECT_EQ(Window::of(*projection, false).stride, (Sides{2, 1}));
  EXPECT_EQ(network.layers.back().output, (Shape{6, 10, 9}));
  EXPECT_THAT(refusal("residual: [{depthwise_conv2d: {kernel: [2, 1], stride: [2, 1], padding: [9, 0]}}]"),
              HasSubstr("no stride takes the input 6x20x9 to the body's output 6x19x9"));
}

TEST(TwoSides, OfABlockAreArguments) {
  const Network network = network_from_yaml(R"(
  - wide: {window: [1, 5]}
blocks:
  wide:
    arguments: {window: [3, 1]}
    body: [depthwise_conv2d: {kernel: $window}])",
                                            kTall);
  EXPECT_EQ(Window::of(network.layers.front(), false).kernel, (Sides{1, 5}));
}

TEST(TwoSides, ThatDoNotFitAreRefusedInOneLine) {
  const std::string place = "a.yaml:2:";
  EXPECT_EQ(
      refusal("conv2d: {channels: 4, kernel: [3, 0]}"),
      place +
          "33: space.network[0].conv2d.kernel: layer conv2d: expected whole numbers of at least 1, got [3, 0]");
  EXPECT_EQ(
      refusal("conv2d: {channels: 4, kernel: [3, 1, 1]}"),
      place +
          "33: space.network[0].conv2d.kernel: expected a single value or [height, width], got a list of 3");
  EXPECT_EQ(refusal("conv2d: {channels: 4, kernel: [3, 1.5]}"),
            place + "37: space.network[0].conv2d.kernel[1]: expected a whole number, got 1.5");
  EXPECT_EQ(
      refusal("conv2d: {channels: 4, kernel: [2000000, 1]}"),
      place +
          "33: space.network[0].conv2d.kernel: layer conv2d: expected whole numbers of at most 1048576, got "
          "[2000000, 1]");
  EXPECT_EQ(
      refusal("conv2d: {channels: [3, 1], kernel: 3}"),
      place +
          "22: space.network[0].conv2d.channels: layer conv2d: expected a whole number of at least 1, got [3, 1]");
  EXPECT_EQ(refusal("conv2d: {channels: 4, kernel: [3, 4]}"),
            place + "11: space.network[0].conv2d: layer conv2d: same needs an odd kernel, got kernel [3, 4]");
  EXPECT_EQ(
      refusal("conv2d: {channels: 4, kernel: [1, 13], padding: [0, 1]}"),
      place +
          "11: space.network[0].conv2d: layer conv2d_0: kernel [1, 13] is larger than its input 6x20x9 with "
          "padding [0, 1]");
  EXPECT_EQ(
      refusal("max_pool: {kernel: [4, 2], padding: [2, 2]}"),
      place +
          "39: space.network[0].max_pool.padding: layer max_pool: expected at most half of kernel [4, 2], got "
          "2");
  EXPECT_EQ(
      refusal("conv1d: {channels: 4, kernel: [3, 1]}", kSequence),
      place +
          "33: space.network[0].conv1d.kernel: layer conv1d: expected a whole number of at least 1, got [3, 1]");
  EXPECT_EQ(
      refusal("max_pool: {kernel: [3, 1]}", kSequence),
      place +
          "22: space.network[0].max_pool.kernel: layer max_pool_0: expected a number for a sequence, got [3, "
          "1]");
}

/// The reference network of keyword spotting, as MLPerf Tiny draws it: the Keras model has 24,908 parameters,
/// of which 1,152 are means and variances of its nine batch norms, and 2,656,768 products.
/// @see Banbury et al., NeurIPS Datasets and Benchmarks, 2021; Zhang et al., arXiv 1711.07128
TEST(TwoSides, WriteDsCnnOfMlperfTiny) {
  std::ifstream file(SKYLINE_SOURCE_DIR "/configs/ds_cnn.yaml");
  std::stringstream text;
  text << file.rdbuf();
  const ConfigNode config = skyline::testing::config_from_yaml(text.str(), "ds_cnn.yaml", "");
  const SearchSpace space = SearchSpace::parse(config.at("space"), {{1, 49, 10}, 12});
  Genotype genotype;
  for (const Parameter& parameter : space.parameters()) {
    const std::string wanted = parameter.name == "stem"       ? "[10, 4]"
                               : parameter.name == "stride"   ? "2"
                               : parameter.name == "channels" ? "64"
                               : parameter.name == "stages"   ? "4"
                                                              : "3";
    genotype.choices.push_back(choice_of(parameter, wanted, {}).value());
  }
  const Cost cost = space.build(genotype).cost;
  EXPECT_EQ(cost.macs, 2'656'768);
  EXPECT_EQ(cost.parameters, 24'908 - 1'152);
  EXPECT_EQ(cost.weight_bytes, 4 * 24'908);
}

}  // namespace
}  // namespace skyline::space
