#include "skyline/space/encoding.hpp"

#include "space/space_from_yaml.hpp"
#include "support/graph_builder.hpp"

#include <algorithm>
#include <cmath>
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

double distance(const Network& left, const Network& right) {
  const std::vector<double> a = encode(left);
  const std::vector<double> b = encode(right);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

TEST(Encoding, OfGraphsHasOneLengthAndFiniteValues) {
  for (const Network& network : {branches({"relu", "gelu"}), chain("[relu]")}) {
    const std::vector<double> code = encode(network);
    EXPECT_EQ(code.size(), kGraphFeatures);
    EXPECT_TRUE(std::ranges::all_of(code, [](double value) { return std::isfinite(value) && value >= 0; }));
  }
}

TEST(Encoding, OfGraphsTellsOperationsAndTheirOrderApart) {
  EXPECT_EQ(distance(branches({"relu", "gelu"}), branches({"gelu", "relu"})), 0) << "a sum has no order";
  EXPECT_GT(distance(branches({"relu", "gelu"}), branches({"relu", "silu"})), 0);
  EXPECT_GT(distance(chain("[relu, tanh, sigmoid]"), chain("[tanh, relu, sigmoid]")), 0);
}

TEST(Encoding, OfGraphsIsNearWhereLittleDiffers) {
  const Network network = branches({"relu", "gelu", "silu", "elu"});
  EXPECT_LT(distance(network, branches({"relu", "gelu", "silu", "hard_swish"})),
            distance(network, branches({"tanh", "softmax", "sigmoid", "hard_swish"})));
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
