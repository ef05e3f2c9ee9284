#include "skyline/space/search_space.hpp"

#include "skyline/core/error.hpp"

#include "space/space_from_yaml.hpp"

#include <array>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> layer_names(const Network& network) {
  std::vector<std::string> names;
  for (const Layer& layer : network.layers) names.push_back(layer.name);
  return names;
}

TEST(SearchSpace, ReadsRangesChoicesAndWeights) {
  const SearchSpace space = space_from_yaml(R"(
parameters:
  depth: {range: [1, 3]}
  width: {range: [16, 64, 16]}
  stride: {range: [1, 6], step: 2}
  padding: {choice: [same, 0, 1], weights: [3, 1, 0.5]}
network:
  - repeat: $depth
    body: [{conv2d: {channels: $width, kernel: 3, padding: $padding, stride: $stride}}])",
                                            {{1, 8, 8}, 0});
  const std::vector<Parameter>& parameters = space.parameters();
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_EQ(parameters[0].name, "depth");
  EXPECT_EQ(parameters[0].values, (std::vector<Value>{std::int64_t{1}, std::int64_t{2}, std::int64_t{3}}));
  EXPECT_EQ(parameters[0].weights, (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(parameters[1].values,
            (std::vector<Value>{std::int64_t{16}, std::int64_t{32}, std::int64_t{48}, std::int64_t{64}}));
  EXPECT_EQ(parameters[2].values, (std::vector<Value>{std::int64_t{1}, std::int64_t{3}, std::int64_t{5}}));
  EXPECT_EQ(parameters[3].values,
            (std::vector<Value>{std::string("same"), std::int64_t{0}, std::int64_t{1}}));
  EXPECT_EQ(parameters[3].weights, (std::vector<double>{3, 1, 0.5}));
  EXPECT_EQ(space.genotype_count(), 3 * 4 * 3 * 3);
}

TEST(SearchSpace, BuildsNestedRepeatsInOrder) {
  const Network network = network_from_yaml(R"(
  - repeat: 2
    body:
      - conv2d: {channels: 4, kernel: 1}
      - repeat: 2
        body: [relu]
      - repeat: 0
        body: [batch_norm]
  - global_average_pool
  - linear: {features: $classes})");
  EXPECT_THAT(layer_names(network), ElementsAre("conv2d_0", "relu_0", "relu_1", "conv2d_1", "relu_2",
                                                "relu_3", "global_average_pool_0", "linear_0"));
  EXPECT_TRUE(network.layers[0].inputs.empty());
  for (std::size_t i = 1; i < network.layers.size(); ++i) {
    EXPECT_THAT(network.layers[i].inputs, ElementsAre(i - 1));
    EXPECT_EQ(network.layers[i].input(), network.layers[i - 1].output);
  }
  EXPECT_EQ(network.classes, 10);
}

TEST(SearchSpace, EnumeratesEveryGenotypeOnceInLexicographicOrder) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  Genotype last;
  for (std::int64_t i = 0; i < space.genotype_count(); ++i) {
    const Genotype genotype = space.genotype_at(i);
    EXPECT_TRUE(i == 0 || last.choices < genotype.choices);
    last = genotype;
  }
  EXPECT_EQ(space.genotype_at(0).choices, (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(last.choices, (std::vector<std::uint32_t>{11, 3, 3}));
  EXPECT_THROW(space.genotype_at(192), InternalError);
  EXPECT_THROW(space.genotype_at(-1), InternalError);
}

TEST(SearchSpace, CountSaturates) {
  std::string parameters;
  std::string layers;
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::string("p").append(std::to_string(i));
    parameters.append("  ").append(name).append(": {range: [1, 1000]}\n");
    layers.append("  - conv2d: {channels: $").append(name).append(", kernel: 1}\n");
  }
  const SearchSpace space =
      space_from_yaml("parameters:\n" + parameters + "network:\n" + layers, {{1, 4, 4}, 0});
  EXPECT_EQ(space.genotype_count(), std::numeric_limits<std::int64_t>::max());
}

TEST(SearchSpace, WithoutParametersThereIsOneArchitecture) {
  const SearchSpace space = space_from_yaml("network: [flatten, {linear: {features: $classes}}]");
  EXPECT_EQ(space.genotype_count(), 1);
  EXPECT_EQ(space.build(space.genotype_at(0)).network().layers.size(), 2U);
  RandomStream random(1);
  EXPECT_FALSE(space.mutate(space.genotype_at(0), 0.3, random));
}

TEST(SearchSpace, SamplesByWeight) {
  const SearchSpace space = space_from_yaml(R"(
parameters: {width: {choice: [1, 2, 3], weights: [1, 2, 1]}}
network: [{conv2d: {channels: $width, kernel: 1}}, global_average_pool, {linear: {features: $classes}}])");
  RandomStream random(7);
  std::array<int, 3> counts{};
  for (int i = 0; i < 8000; ++i) ++counts.at(space.sample(random).choices[0]);
  EXPECT_NEAR(counts[0], 2000, 200);
  EXPECT_NEAR(counts[1], 4000, 200);
  EXPECT_NEAR(counts[2], 2000, 200);
}

TEST(SearchSpace, SamplesTheSameForTheSameSeed) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  RandomStream first(3);
  RandomStream second(3);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(space.sample(first), space.sample(second));
}

TEST(SearchSpace, DescribesAGenotypeInDeclarationOrder) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  EXPECT_EQ(space.describe({{2, 2, 0}}), "depth=3 kernel=5 width=16");
}

TEST(SearchSpace, RefusesAGenotypeOfAnotherSpace) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  EXPECT_THROW(space.build({{0, 0}}), InternalError);
  EXPECT_THROW(space.build({{12, 0, 0}}), InternalError);
}

TEST(SearchSpace, KeepsGenotypesWhoseShapesFitWhenOthersDoNot) {
  const SearchSpace space = space_from_yaml(R"(
parameters: {kernel: {choice: [31, 3]}}
network: [{conv2d: {channels: 4, kernel: $kernel, padding: 0}}, flatten, {linear: {features: $classes}}])");
  EXPECT_THROW(space.build({{0}}), UserError);
  EXPECT_NO_THROW(space.build({{1}}));
}

}  // namespace
}  // namespace skyline::space
