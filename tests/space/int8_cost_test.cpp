// Costs in int8 against sums by hand, and the spaces whose networks have them.
#include "space/quantized/int8_cost.hpp"

#include "space/space_from_yaml.hpp"

#include <string>

#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::config_from_yaml;

constexpr std::int64_t kPerOutput = 12;

Cost int8_of(const std::string& list, const Shape& input) {
  Network network = network_from_yaml(list, {input, 0});
  add_int8_costs(network);
  return network.cost;
}

TEST(Int8Cost, OfAChainIsItsLargestInputAndOutput) {
  const Cost cost = int8_of("[{conv2d: {channels: 12, kernel: 3}}, batch_norm, relu]", {1, 16, 16});
  EXPECT_EQ(cost.int8_peak_activation_bytes, 13 * 256);
  EXPECT_EQ(cost.int8_weight_bytes, 12 * 9 + 12 * kPerOutput) << "the norm is part of the convolution";
}

TEST(Int8Cost, KeepsTheInputUntilItsLastReader) {
  const Cost cost =
      int8_of("[{residual: [{conv2d: {channels: 4, kernel: 3}}, relu, {conv2d: {channels: 4, kernel: 3}}]}]",
              {4, 8, 8});
  EXPECT_EQ(cost.int8_peak_activation_bytes, 3 * 4 * 64) << "input, inner tensor and output of a convolution";
}

TEST(Int8Cost, AddsNothingInPlace) {
  EXPECT_EQ(int8_of("[{residual: [tanh]}]", {4, 8, 8}).int8_peak_activation_bytes, 3 * 4 * 64);
  EXPECT_EQ(int8_of("[tanh]", {4, 8, 8}).int8_peak_activation_bytes, 2 * 4 * 64);
}

TEST(Int8Cost, OfSqueezeAndExcitationKeepsItsInput) {
  const Cost cost = int8_of("[{squeeze_excitation: {reduction: 4}}]", {8, 4, 4});
  EXPECT_EQ(cost.int8_peak_activation_bytes, 8 * 16 + 8 + 8 * 16) << "input, gates, output";
  EXPECT_EQ(cost.int8_weight_bytes, 2 * 8 * 2 + (2 + 8) * kPerOutput);
}

TEST(Int8Cost, CountsViewsAndDropoutAsNothing) {
  const Cost cost = int8_of("[dropout, flatten, dropout, {linear: {features: 3}}]", {2, 4, 4});
  EXPECT_EQ(cost.int8_peak_activation_bytes, 32 + 3);
  EXPECT_EQ(cost.int8_weight_bytes, 32 * 3 + 3 * kPerOutput);
  EXPECT_EQ(int8_of("[flatten]", {2, 4, 4}).int8_peak_activation_bytes, 32);
  EXPECT_EQ(int8_of("[dropout]", {2, 4, 4}).int8_peak_activation_bytes, 32);
  EXPECT_EQ(int8_of("[dropout]", {2, 4, 4}).int8_weight_bytes, 0);
}

TEST(Int8Cost, OfANormAloneIsAByteAndTwelvePerChannel) {
  const Cost cost = int8_of("[{max_pool: {kernel: 2}}, batch_norm, relu]", {6, 4, 4});
  EXPECT_EQ(cost.int8_weight_bytes, 6 * (1 + kPerOutput));
  EXPECT_EQ(cost.int8_peak_activation_bytes, 6 * 16 + 6 * 4);
}

TEST(Int8Cost, HasFourBytesForWhatStaysInFloat) {
  const Cost cost = int8_of(
      "[{conv1d: {channels: 4, kernel: 3}}, layer_norm, {conv1d: {channels: 2, kernel: 1}}]", {3, 1, 10});
  EXPECT_EQ(cost.int8_peak_activation_bytes, 4 * (4 * 10 + 4 * 10)) << "input and output of the norm";
  EXPECT_EQ(cost.int8_weight_bytes, 3 * 3 * 4 + 4 * kPerOutput + 4 * (4 + 4) + 4 * 2 + 2 * kPerOutput);
}

TEST(Int8Cost, OfAttentionHasItsScores) {
  const Cost cost = int8_of("[{multi_head_self_attention: {heads: 2, bias: false}}]", {6, 1, 20});
  const std::int64_t tensor = 6 * 20;
  EXPECT_EQ(cost.int8_peak_activation_bytes, 4 * (4 * tensor + 2 * 2 * 20 * 20));
  EXPECT_EQ(cost.int8_weight_bytes, 4 * (36 + 6 * kPerOutput));
}

const std::string kTwoWidths = R"(
parameters: {width: {choice: [4, 8]}}
network: [{conv2d: {channels: $width, kernel: 3}}, global_average_pool, {linear: {features: $classes}}]
)";
const DataShape kTenClasses{{1, 8, 8}, 10};

TEST(Int8Cost, IsThereOnlyIfSomethingAsksForIt) {
  const SearchSpace plain = space_from_yaml(kTwoWidths, kTenClasses);
  EXPECT_EQ(plain.costs().size(), kFloatCosts);
  EXPECT_EQ(plain.build({{0}}).cost.int8_peak_activation_bytes, 0);
  const SearchSpace asked = SearchSpace::parse(config_from_yaml(kTwoWidths, "a.yaml", "space"), kTenClasses,
                                               {}, {}, config_from_yaml("int8_weight_bytes"));
  EXPECT_EQ(asked.costs().size(), kCosts.size());
  const Architecture built = asked.build({{1}});
  EXPECT_EQ(built.cost.int8_peak_activation_bytes, 64 + 8 * 64);
  EXPECT_EQ(built.cost.int8_weight_bytes, 8 * 9 + 8 * 10 + 18 * kPerOutput);
  EXPECT_EQ(built.unbuilt().network().cost.int8_weight_bytes, built.cost.int8_weight_bytes);
  EXPECT_EQ(built.id, plain.build({{1}}).id) << "costs are no part of an architecture";
  const SearchSpace alone = SearchSpace::parse(config_from_yaml("parameters: {a: {choice: [1, 2]}}"), {}, {},
                                               {}, config_from_yaml("int8_weight_bytes"));
  EXPECT_TRUE(alone.costs().empty());
}

TEST(Int8Cost, IsWhatAnExpressionMayName) {
  const ConfigNode kilobytes = config_from_yaml("$int8_weight_bytes / 1000", "a.yaml", "metrics.kb.is");
  const SearchSpace space = SearchSpace::parse(config_from_yaml(kTwoWidths, "a.yaml", "space"), kTenClasses,
                                               {}, {{.name = "kb", .source = kilobytes}});
  EXPECT_EQ(space.build({{1}}).given("kb"), (8 * 9 + 8 * 10 + 18 * kPerOutput) / 1000.0);
  EXPECT_EQ(space.costs().size(), kCosts.size());
}

}  // namespace
}  // namespace skyline::space
