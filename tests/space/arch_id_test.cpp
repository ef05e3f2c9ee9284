// Which genotypes are the same architecture.
#include "space/space_from_yaml.hpp"

#include <gtest/gtest.h>

namespace skyline::space {
namespace {

ArchId id_of(const std::string& list) {
  return space_from_yaml("network: " + list, {{3, 8, 8}, 0}).build({}).id;
}

TEST(ArchId, IsStableForEver) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  const Architecture built = space.build(space.genotype_at(0));
  EXPECT_EQ(built.network().canonical_text(),
            "input 1x28x28\n"
            "conv2d(bias=true,channels=16,kernel=1,padding=0,stride=1) <- input\n"
            "batch_norm(epsilon=1e-05,momentum=0.1) <- 0\n"
            "relu <- 1\n"
            "global_average_pool <- 2\n"
            "linear(bias=true,features=10) <- 3\n");
  EXPECT_EQ(to_text(built.id), "526c74ae3d11ad6a");
}

TEST(ArchId, DoesNotDependOnSpelling) {
  EXPECT_EQ(id_of("[{conv2d: {channels: 8, kernel: 3, padding: same}}]"),
            id_of("[{conv2d: {kernel: 3, channels: 4 * 2, padding: 1, bias: true, stride: 1}}]"));
  EXPECT_EQ(id_of("[{repeat: 2, body: [relu]}]"), id_of("[relu, relu]"));
}

TEST(ArchId, DependsOnEveryAttributeAndTheOrder) {
  EXPECT_NE(id_of("[{conv2d: {channels: 8, kernel: 3}}]"),
            id_of("[{conv2d: {channels: 8, kernel: 3, bias: false}}]"));
  EXPECT_NE(id_of("[batch_norm]"), id_of("[{batch_norm: {epsilon: 1e-3}}]"));
  EXPECT_NE(id_of("[batch_norm, relu]"), id_of("[relu, batch_norm]"));
}

TEST(ArchId, ParametersThatTheNetworkNeverReadsDoNotCount) {
  const SearchSpace space = space_from_yaml(R"(
parameters:
  depth: {range: [0, 2]}
  kernel: {choice: [1, 3]}
network:
  - repeat: $depth
    body: [{conv2d: {channels: 4, kernel: $kernel}}]
  - flatten
  - linear: {features: $classes})");
  const Architecture shallow = space.build({{0, 0}});
  EXPECT_EQ(shallow.used, (std::vector<bool>{true, false}));
  EXPECT_EQ(shallow.id, space.build({{0, 1}}).id);
  EXPECT_EQ(space.build({{1, 0}}).used, (std::vector<bool>{true, true}));
  EXPECT_NE(space.build({{1, 0}}).id, space.build({{1, 1}}).id);
}

TEST(ArchId, DifferentParametersMayBuildTheSameNetwork) {
  const SearchSpace space = space_from_yaml(R"(
parameters: {a: {choice: [2, 4]}, b: {choice: [2, 4]}}
network: [{conv2d: {channels: $a * $b, kernel: 1}}, global_average_pool, {linear: {features: $classes}}])");
  EXPECT_EQ(space.build({{0, 1}}).id, space.build({{1, 0}}).id);
  EXPECT_NE(space.build({{0, 0}}).id, space.build({{1, 1}}).id);
}

}  // namespace
}  // namespace skyline::space
