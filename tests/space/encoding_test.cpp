#include "skyline/space/encoding.hpp"

#include "space/space_from_yaml.hpp"
#include "support/graph_builder.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::GraphBuilder;
using ::testing::ElementsAre;

const char* const kSpace = R"(
parameters:
  depth: {range: [0, 4]}
  kernel: {choice: [1, 3, 5]}
  activation: {choice: [relu, tanh, identity]}
  bias: {choice: [true, false]}
  width: {choice: [8]}
network:
  - repeat: $depth
    body: [{conv2d: {channels: $width, kernel: $kernel, bias: $bias}}, $activation]
  - global_average_pool
  - linear: {features: $classes}
)";

TEST(Encoding, OfParametersScalesNumbersAndMarksWords) {
  const SearchSpace space = space_from_yaml(kSpace);
  EXPECT_THAT(encode(space, space.build({{3, 1, 2, 0, 0}})), ElementsAre(0.75, 0.5, 0, 0, 1, 1, 0, 0));
  EXPECT_THAT(encode(space, space.build({{4, 2, 0, 1, 0}})), ElementsAre(1, 1, 1, 0, 0, 0, 1, 0));
}

TEST(Encoding, OfParametersDoesNotDependOnThoseThatAreNotUsed) {
  const SearchSpace space = space_from_yaml(kSpace);
  EXPECT_THAT(encode(space, space.build({{0, 1, 2, 0, 0}})), ElementsAre(0, -1, 0, 0, 0, 0, 0, -1));
  EXPECT_EQ(encode(space, space.build({{0, 2, 1, 1, 0}})), encode(space, space.build({{0, 0, 0, 0, 0}})));
}

Network chain(const char* list) {
  return network_from_yaml(list, {{4, 6, 6}, 0});
}

/// Makes a network of a stem, branches and their sum.
Network branches(const std::vector<std::string>& kinds) {
  GraphBuilder builder({4, 6, 6});
  const std::size_t stem = builder.add("tanh", {});
  std::vector<std::size_t> ends;
  for (const std::string& kind : kinds) ends.push_back(builder.add(kind, {stem}));
  builder.add("add", ends);
  return builder.build();
}

std::map<std::string, double> by_name(const Network& network) {
  std::map<std::string, double> values;
  for (const Feature& feature : features(network))
    EXPECT_TRUE(values.emplace(feature.name, feature.value).second);
  return values;
}

TEST(Features, CountLayersByKindAndByValueOfAnAttribute) {
  const auto values =
      by_name(chain("[conv2d: {channels: 4, kernel: 3}, relu, conv2d: {channels: 8, kernel: 3}, relu]"));
  EXPECT_EQ(values.at("steps"), 4);
  EXPECT_EQ(values.at("conv2d"), 2);
  EXPECT_EQ(values.at("conv2d kernel=3"), 2);
  EXPECT_EQ(values.at("conv2d channels=8"), 1);
  EXPECT_EQ(values.at("relu"), 2);
  EXPECT_EQ(values.at("with weights"), 2);
  EXPECT_EQ(values.at("log parameters"), std::log1p(4 * 4 * 9 + 4 + 4 * 8 * 9 + 8));
}

TEST(Features, CountLayersAlongPaths) {
  GraphBuilder builder({4, 6, 6});
  const std::size_t stem = builder.add("tanh", {});
  const std::size_t first = builder.add("relu", {stem});
  const std::size_t second = builder.add("batch_norm", {first});
  const std::size_t sum = builder.add("add", {stem, first, second});
  builder.add("add", {sum, stem});
  const auto values = by_name(builder.build());
  EXPECT_NEAR(values.at("log paths"), std::log(4.0), 1e-12);
  EXPECT_EQ(values.at("steps, longest"), 3);
  EXPECT_EQ(values.at("steps, shortest"), 1) << "sums are no steps";
  EXPECT_NEAR(values.at("steps, mean"), 1 + 3.0 / 4, 1e-12) << "of the paths 1, 2, 3 and 1";
  EXPECT_EQ(values.at("with weights, longest"), 1);
  EXPECT_EQ(values.at("with weights, shortest"), 0);
  EXPECT_NEAR(values.at("with weights, mean"), 1.0 / 4, 1e-12);
}

TEST(Features, AreFiniteForMorePathsThanANumberCanCount) {
  GraphBuilder builder({4, 6, 6});
  std::size_t last = builder.add("tanh", {});
  for (int i = 0; i < 2000; ++i) last = builder.add("add", {last, builder.add("relu", {last})});
  const auto values = by_name(builder.build());
  EXPECT_NEAR(values.at("log paths"), 2000 * std::log(2.0), 1e-6);
  EXPECT_NEAR(values.at("steps, mean"), 1001, 1e-6);
}

TEST(Features, DoNotDependOnTheOrderOfBranches) {
  EXPECT_EQ(by_name(branches({"relu", "gelu"})), by_name(branches({"gelu", "relu"})));
  EXPECT_NE(by_name(branches({"relu", "gelu"})), by_name(branches({"relu", "silu"})));
}

TEST(Neighbours, AreAllArchitecturesOfOneChangeInOrder) {
  const SearchSpace space = space_from_yaml(kSpace);
  std::vector<std::string> texts;
  for (const Architecture& near : neighbours(space, {{1, 1, 0, 0, 0}})) {
    texts.push_back(space.describe(near.genotype));
  }
  EXPECT_THAT(texts, ElementsAre("depth=0 kernel=3 activation=relu bias=true width=8",
                                 "depth=2 kernel=3 activation=relu bias=true width=8",
                                 "depth=3 kernel=3 activation=relu bias=true width=8",
                                 "depth=4 kernel=3 activation=relu bias=true width=8",
                                 "depth=1 kernel=1 activation=relu bias=true width=8",
                                 "depth=1 kernel=5 activation=relu bias=true width=8",
                                 "depth=1 kernel=3 activation=tanh bias=true width=8",
                                 "depth=1 kernel=3 activation=identity bias=true width=8",
                                 "depth=1 kernel=3 activation=relu bias=false width=8"));
}

TEST(Neighbours, AreValidAndDifferFromEachOtherAndFromTheirCentre) {
  const SearchSpace space = space_from_yaml(
      "{parameters: {kernel: {choice: [1, 3, 29]}, pool: {choice: [1, 2]}, gone: {choice: [relu, tanh]}, "
      "probability: {choice: [0.0, 0.5]}}, network: [{conv2d: {channels: 4, kernel: $kernel, padding: 0}}, "
      "{max_pool: {kernel: $pool}}, {when: $kernel == 29, $gone: }, {dropout: {probability: $probability}}, "
      "global_average_pool, {linear: {features: $classes}}]}");
  const Genotype centre{{0, 0, 0, 0}};
  std::set<ArchId> ids{space.build(centre).id};
  for (const Architecture& near : neighbours(space, centre)) {
    EXPECT_NE(near.genotype.choices[0], 2U) << "29 is larger than the input";
    EXPECT_EQ(near.genotype.choices[2], 0U) << "not used";
    EXPECT_TRUE(ids.insert(near.id).second);
    EXPECT_EQ(near.id, space.build(near.genotype).id);
  }
  EXPECT_EQ(ids.size(), 1U + 3);
}

}  // namespace
}  // namespace skyline::space
