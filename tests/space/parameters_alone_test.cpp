// Spaces without a network: their parameters are all that there is.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/space/encoding.hpp"

#include "space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <limits>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::ElementsAre;

constexpr DataShape kNoData{};

SearchSpace alone(const std::string& parameters, const std::string& rest = {}) {
  return space_from_yaml("parameters: {" + parameters + "}\n" + rest, kNoData);
}

std::string alone_error(const std::string& parameters, const std::string& rest = {}) {
  return user_error_of([&] { alone(parameters, rest); });
}

const std::string kTwoAlone = "lr: {choice: [0.1, 0.01]}, depth: {range: [1, 4]}";

ArchId alone_id(const SearchSpace& space, std::vector<std::uint32_t> choices) {
  return space.build(Genotype{std::move(choices)}).id;
}

TEST(ParametersAlone, MakeArchitecturesWithoutNetworks) {
  const SearchSpace space = alone(kTwoAlone);
  EXPECT_FALSE(space.has_network());
  EXPECT_TRUE(space_from_yaml(kCnnSpace).has_network());
  const Architecture architecture = space.build(Genotype{{1, 2}});
  EXPECT_FALSE(architecture.has_network());
  EXPECT_FALSE(architecture.unbuilt().has_network());
  EXPECT_EQ(architecture.layer_count(), 0U);
  EXPECT_THAT(architecture.used, ElementsAre(true, true));
  EXPECT_EQ(space.describe(architecture.genotype), "lr=0.01 depth=3");
  EXPECT_EQ(user_error_of([&] { (void)architecture.network(); }),
            "the space has no network, only parameters");
  EXPECT_EQ(user_error_of([&] { (void)architecture.unbuilt().network(); }),
            "the space has no network, only parameters");
}

TEST(ParametersAlone, GiveAnIdByTheirNamesAndValues) {
  const SearchSpace space = alone(kTwoAlone);
  std::set<ArchId> ids;
  for (std::int64_t i = 0; i < space.genotype_count(); ++i) ids.insert(space.build(space.genotype_at(i)).id);
  EXPECT_EQ(ids.size(), 8U);
  EXPECT_EQ(alone_id(space, {1, 2}), alone_id(alone("depth: {choice: [3]}, lr: {choice: [0.01]}"), {0, 0}))
      << "neither the order nor the other values matter";
  EXPECT_NE(alone_id(space, {1, 2}), alone_id(alone("deep: {choice: [3]}, lr: {choice: [0.01]}"), {0, 0}));
  EXPECT_NE(alone_id(space, {1, 2}), alone_id(alone("depth: {choice: [3.0]}, lr: {choice: [0.01]}"), {0, 0}));
}

TEST(ParametersAlone, CountIfOnlyAConditionReadsThem) {
  const SearchSpace space = alone("a: {range: [1, 3]}, b: {range: [1, 3]}", "where: $a < $b");
  EXPECT_EQ(space.count_kept(), 3);
  EXPECT_EQ(user_error_of([&] {
              (void)space.build(Genotype{{1, 0}});
            }),
            "a.yaml:2:8: space.where: `$a < $b` does not hold, for a=2 b=1");
  EXPECT_NE(alone_id(space, {0, 1}), alone_id(space, {0, 2}));
}

TEST(ParametersAlone, AreEncodedAndHaveNoFeatures) {
  const SearchSpace space = alone(kTwoAlone);
  const Architecture architecture = space.build(Genotype{{1, 3}});
  EXPECT_THAT(encode(space, architecture), ElementsAre(1, 1));
  EXPECT_TRUE(features(architecture).empty());
  EXPECT_EQ(neighbours(space, architecture.genotype).size(), 4U);
}

TEST(ParametersAlone, MaySpanMoreGenotypesThanCanBeCounted) {
  std::string parameters;
  for (char name = 'a'; name <= 'j'; ++name) {
    parameters +=
        std::string(name == 'a' ? "" : ", ") + name + ": {range: [1e-5, 1e-1], log: true, count: 100}";
  }
  const SearchSpace space = alone(parameters);
  EXPECT_EQ(space.genotype_count(), std::numeric_limits<std::int64_t>::max());
  RandomStream random(1);
  const Genotype first = space.sample(random);
  const Genotype second = space.sample(random);
  EXPECT_NE(space.build(first).id, space.build(second).id);
  EXPECT_TRUE(space.mutate(first, 0.1, random).has_value());
  EXPECT_TRUE(space.cross(space.build(first), space.build(second), random).has_value());
  EXPECT_GT(space.genotype_at(space.genotype_count() - 1).choices.front(), 0U);
}

TEST(ParametersAlone, RefuseWhatHasAMeaningInNetworksOnly) {
  EXPECT_EQ(
      alone_error("a: {choice: [1, 2], each: true}"),
      "a.yaml:1:17: space.parameters.a: `each: true` gives a value to every place of a network, which this "
      "space does not have");
  EXPECT_EQ(alone_error(kTwoAlone, "blocks: {b: relu}"),
            "a.yaml:2:9: space.blocks: nothing uses blocks: the space has no network");
  EXPECT_EQ(alone_error(kTwoAlone, "where: $depth < $classes"),
            "a.yaml:2:8: space.where: `$classes` needs data: give `data`");
  EXPECT_EQ(alone_error(kTwoAlone, "network:"),
            "a.yaml:2:1: space.network: expected a list of layers, got nothing");
}

}  // namespace
}  // namespace skyline::space
