// Parameters that a genotype uses where their `when` holds, in spaces without a network.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/space/encoding.hpp"

#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

SearchSpace conditional(const std::string& parameters, const std::string& rest = {}) {
  return space_from_yaml("parameters: {" + parameters + "}\n" + rest, DataShape{});
}

std::string conditional_error(const std::string& parameters, const std::string& rest = {}) {
  return user_error_of([&] { conditional(parameters, rest); });
}

const std::string kOptimizer = "optimizer: {choice: [adam, sgd]}";
const std::string kMomentum = "momentum: {choice: [0, 0.9, 0.99], when: $optimizer == sgd}";
const std::string kNesterov = "nesterov: {choice: [false, true], when: $momentum > 0}";
const std::string kNested =
    kNesterov + ", " + kMomentum + ", " + kOptimizer;  // conditions name what comes later

bool is_canonical(const SearchSpace& space, const Genotype& genotype) {
  return space.build(genotype).genotype == genotype;
}

std::vector<Architecture> all_architectures(const SearchSpace& space) {
  std::vector<Architecture> all;
  std::set<ArchId> known;
  for (GenotypeWalk walk(space); !walk.finished();) {
    const BuildAttempt attempt = space.try_build(walk.current());
    walk.advance(attempt.reads);
    if (attempt.architecture && known.insert(attempt.architecture->id).second)
      all.push_back(*attempt.architecture);
  }
  return all;
}

TEST(ConditionalParameters, AreUsedWhereTheirConditionsHold) {
  const SearchSpace space = conditional(kNested);
  const Architecture adam = space.build(Genotype{{1, 2, 0}});
  EXPECT_THAT(adam.used, ElementsAre(false, false, true));
  EXPECT_EQ(adam.genotype, (Genotype{{0, 0, 0}})) << "what is not used has its first value";
  EXPECT_EQ(space.describe(Genotype{{1, 2, 0}}), "optimizer=adam");
  EXPECT_EQ(space.describe(Genotype{{1, 0, 1}}), "momentum=0 optimizer=sgd");
  EXPECT_EQ(space.describe(Genotype{{1, 2, 1}}), "nesterov=true momentum=0.99 optimizer=sgd");
  EXPECT_THAT(space.conditional(), ElementsAre("nesterov", "momentum"));
  EXPECT_THAT(space.in_use(Genotype{{0, 0, 1}}), ElementsAre(false, true, true));
}

TEST(ConditionalParameters, DoNotTellArchitecturesApartWhereTheyAreNotUsed) {
  const SearchSpace space = conditional(kNested);
  std::set<ArchId> ids;
  for (std::int64_t i = 0; i < space.genotype_count(); ++i) ids.insert(space.build(space.genotype_at(i)).id);
  EXPECT_EQ(ids.size(), 6U) << "adam, sgd without a momentum, and two momenta with nesterov or without";
  EXPECT_EQ(all_architectures(space).size(), 6U);
  const SearchSpace plain = conditional("optimizer: {choice: [adam]}");
  EXPECT_EQ(space.build(Genotype{{1, 1, 0}}).id, plain.build(Genotype{{0}}).id);
}

TEST(ConditionalParameters, ReadConditionsFromLeftToRight) {
  const std::string depth = ", depth: {range: [1, 2]}";
  const SearchSpace last = conditional(kOptimizer + ", " + kMomentum + depth +
                                       ", x: {range: [1, 2], when: $depth == 2 or $momentum > 0}");
  EXPECT_TRUE(last.in_use(Genotype{{0, 0, 1, 0}})[3]) << "the answer is known before the momentum is read";
  EXPECT_FALSE(last.in_use(Genotype{{0, 0, 0, 0}})[3]);
  const SearchSpace first = conditional(kOptimizer + ", " + kMomentum + depth +
                                        ", x: {range: [1, 2], when: not ($momentum > 0) or $depth == 2}");
  EXPECT_FALSE(first.in_use(Genotype{{0, 0, 1, 0}})[3])
      << "what is not used has no value, not even for `not`";
  EXPECT_TRUE(first.in_use(Genotype{{1, 0, 0, 0}})[3]);
}

TEST(ConditionalParameters, RefuseConditionsThatCannotBeMeant) {
  EXPECT_EQ(
      conditional_error("a: {range: [1, 2], when: $b == 1}, b: {range: [1, 2], when: $a == 1}"),
      "a.yaml:1:39: space.parameters.a.when: whether `a` is used depends on itself: expected conditions "
      "without a circle, got `$b == 1`");
  EXPECT_THAT(conditional_error("a: {range: [1, 2], when: $a == 1}"),
              HasSubstr("a.when: whether `a` is used depends on itself"));
  EXPECT_THAT(conditional_error(kOptimizer + ", m: {range: [1, 2], when: $optimiser == sgd}"),
              HasSubstr("space.parameters.m.when: in `$optimiser == sgd`: unknown parameter `$optimiser`"));
  EXPECT_THAT(
      conditional_error("n: {range: [1, 2]}, m: {range: [1, 2], when: $n > 2}"),
      EndsWith(
          "m.when: never holds, so that no trial uses `m`: expected a condition that holds for some values, got `$n > 2`"));
  EXPECT_THAT(
      conditional_error("m: {range: [1, 2], when: true}"),
      EndsWith("m.when: expected a condition on other parameters, for example $optimizer == sgd, got true"));
  EXPECT_THAT(
      conditional_error("n: {range: [1, 2]}, m: {range: [1, 2], when: $n + 1}"),
      EndsWith(
          "m.when: expected a condition on other parameters, for example $optimizer == sgd, got $n + 1"));
  EXPECT_THAT(conditional_error("m: {range: [1, 2], when: [1]}"),
              EndsWith("m.when: expected a condition, for example $optimizer == sgd, got a list of 1"));
  EXPECT_THAT(user_error_of([&] {
                space_from_yaml(
                    "parameters: {n: {range: [1, 2]}, m: {range: [1, 2], when: $n == 1}}\n"
                    "network: [flatten, {linear: {features: $m * $n}}, {linear: {features: $classes}}]");
              }),
              HasSubstr("space.parameters.m.when: a network says itself which parameters it uses"));
}

TEST(ConditionalParameters, AreReadElsewhereOnlyWhereTheyAreUsed) {
  const std::string both = kOptimizer + ", " + kMomentum;
  EXPECT_EQ(
      conditional_error(both, "where: $momentum < 0.95"),
      "a.yaml:2:8: space.where: reads `$momentum` where it is not used, for optimizer=adam: expected what "
      "is then, for example with `not ($optimizer == sgd) or`, or `if($optimizer == sgd, ..., ...)`");
  EXPECT_THAT(conditional_error(both, "where: $momentum < 0.95 or $optimizer == adam"),
              HasSubstr("for optimizer=adam"));
  const SearchSpace space = conditional(both, "where: $optimizer != sgd or $momentum < 0.95");
  EXPECT_EQ(all_architectures(space).size(), 3U);
  EXPECT_EQ(conditional(both, "where: not ($optimizer == sgd) or $momentum < 0.95").count_kept(), 5);
}

TEST(ConditionalParameters, AreDrawnOnlyWhereTheyAreUsed) {
  const SearchSpace space = conditional(kNested, "where: $optimizer != sgd or $momentum < 0.95");
  RandomStream random(3);
  std::map<std::string, int> counts;
  constexpr int kDraws = 8'000;
  for (int i = 0; i < kDraws; ++i) {
    const Genotype drawn = space.sample(random);
    EXPECT_TRUE(is_canonical(space, drawn));
    ++counts[space.describe(drawn)];
  }
  // The number of values of a conditional parameter does not make its condition rarer or more frequent, but
  // the condition in `where` leaves out a third of the draws with sgd.
  EXPECT_NEAR(counts["optimizer=adam"], kDraws * 3 / 5, 200);
  EXPECT_NEAR(counts["momentum=0 optimizer=sgd"], kDraws / 5, 200);
  EXPECT_NEAR(counts["nesterov=true momentum=0.9 optimizer=sgd"], kDraws / 10, 200);
  EXPECT_EQ(counts.size(), 4U);
}

TEST(ConditionalParameters, GetRandomValuesWhereAMutationUsesThem) {
  const SearchSpace space = conditional(kNested);
  RandomStream random(4);
  std::set<std::string> children;
  const Genotype adam = space.build(Genotype{{0, 0, 0}}).genotype;
  for (int i = 0; i < 200; ++i) {
    const auto child = space.mutate(adam, 0.5, random);
    ASSERT_TRUE(child);
    EXPECT_TRUE(is_canonical(space, *child));
    children.insert(space.describe(*child));
  }
  EXPECT_EQ(children.size(), 5U) << "all with sgd";
  for (const Architecture& parent : all_architectures(space)) {
    for (int i = 0; i < 50; ++i)
      EXPECT_TRUE(is_canonical(space, *space.mutate(parent.genotype, 0.3, random)));
  }
}

TEST(ConditionalParameters, AreCrossedFromTheParentThatUsesThem) {
  const SearchSpace space = conditional(kOptimizer + ", " + kMomentum + ", depth: {range: [1, 2]}");
  const Architecture adam = space.build(Genotype{{0, 0, 1}});
  const Architecture sgd = space.build(Genotype{{1, 2, 0}});
  RandomStream random(5);
  std::set<std::string> children;
  for (int i = 0; i < 200; ++i) {
    const auto child = space.cross(adam, sgd, random);
    ASSERT_TRUE(child);
    EXPECT_TRUE(is_canonical(space, *child));
    children.insert(space.describe(*child));
  }
  EXPECT_THAT(children, ElementsAre("optimizer=adam depth=1", "optimizer=sgd momentum=0.99 depth=2"));
}

TEST(ConditionalParameters, CountAsUnusedForModelsAndArchai) {
  const SearchSpace space = conditional(kOptimizer + ", " + kMomentum);
  EXPECT_THAT(encode(space, space.build(Genotype{{0, 2}})), ElementsAre(1, 0, -1));
  EXPECT_THAT(encode(space, space.build(Genotype{{1, 2}})), ElementsAre(0, 1, 1));
  EXPECT_EQ(space.archai_id(space.build(Genotype{{0, 1}})), space.archai_id(space.build(Genotype{{0, 2}})));
  EXPECT_EQ(neighbours(space, Genotype{{1, 1}}).size(), 3U) << "adam, and the two other momenta";
}

}  // namespace
}  // namespace skyline::space
