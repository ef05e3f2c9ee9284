// Mutation and crossover, on small random spaces that can be enumerated.
#include "skyline/core/error.hpp"

#include "space/space_from_yaml.hpp"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace skyline::space {
namespace {

std::string number(RandomStream& random, std::uint64_t low, std::uint64_t high) {
  return std::to_string(low + random.below(high - low + 1));
}

// Two to four parameters in a network with repeats that may be empty, kernels that may not fit, and sums that
// make different genotypes equal.
SearchSpace random_space(RandomStream& random) {
  std::string text = "parameters:\n";
  text += "  depth: {range: [0, " + number(random, 1, 3) + "]}\n";
  text += "  kernel: {choice: [1, 3, " + number(random, 4, 12) + "]}\n";
  text += "  a: {range: [1, " + number(random, 1, 4) + "]}\n";
  text += "  b: {range: [1, " + number(random, 1, 4) + "]}\n";
  text += "network:\n";
  text += "  - repeat: $depth\n    body:\n";
  text += "      - conv2d: {channels: $a + $b, kernel: $kernel, padding: 0}\n      - relu\n";
  if (random.below(2) == 1) text += "  - conv2d: {channels: \"max($a, 2)\", kernel: 1}\n";
  text += "  - global_average_pool\n  - linear: {features: $classes}\n";
  return space_from_yaml(text, {{1, 8, 8}, 10});
}

// Genotype number -> id of what it builds; those that build nothing are left out.
std::map<std::int64_t, ArchId> all_ids(const SearchSpace& space) {
  std::map<std::int64_t, ArchId> ids;
  for (std::int64_t i = 0; i < space.genotype_count(); ++i) {
    try {
      ids[i] = space.build(space.genotype_at(i)).id;
    } catch (const UserError&) {
    }
  }
  return ids;
}

// The oracle for "another architecture can be reached": any change of used parameters alone.
bool has_neighbour(const SearchSpace& space, const Architecture& parent) {
  for (const auto& [index, id] : all_ids(space)) {
    const Genotype other = space.genotype_at(index);
    bool reachable = id != parent.id;
    int changes = 0;
    for (std::size_t p = 0; p < other.choices.size(); ++p) {
      if (other.choices[p] == parent.genotype.choices[p]) continue;
      reachable = reachable && parent.used[p];
      ++changes;
    }
    if (reachable && changes == 1) return true;
  }
  return false;
}

TEST(Variation, EqualCanonicalTextsAndEqualIdsGoTogether) {
  RandomStream random(11);
  for (int round = 0; round < 20; ++round) {
    const SearchSpace space = random_space(random);
    std::map<ArchId, std::string> texts;
    std::set<std::string> distinct;
    for (const auto& [index, id] : all_ids(space)) {
      const std::string text = space.build(space.genotype_at(index)).network().canonical_text();
      EXPECT_EQ(texts.emplace(id, text).first->second, text);
      distinct.insert(text);
    }
    EXPECT_EQ(distinct.size(), texts.size());
  }
}

TEST(Variation, ChangingUnusedParametersKeepsTheId) {
  RandomStream random(12);
  for (int round = 0; round < 20; ++round) {
    const SearchSpace space = random_space(random);
    for (const auto& [index, id] : all_ids(space)) {
      const Architecture built = space.build(space.genotype_at(index));
      Genotype other = space.sample(random);
      for (std::size_t p = 0; p < other.choices.size(); ++p) {
        if (built.used[p]) other.choices[p] = built.genotype.choices[p];
      }
      EXPECT_EQ(space.build(other).id, id);
    }
  }
}

TEST(Variation, MutationAlwaysBuildsAnotherArchitectureAndTouchesUsedParametersOnly) {
  RandomStream random(13);
  for (int round = 0; round < 30; ++round) {
    const SearchSpace space = random_space(random);
    for (const auto& [index, id] : all_ids(space)) {
      const Architecture parent = space.build(space.genotype_at(index));
      const auto child = space.mutate(parent.genotype, 0.3, random);
      if (!child) {
        EXPECT_FALSE(has_neighbour(space, parent)) << space.describe(parent.genotype);
        continue;
      }
      EXPECT_NE(space.build(*child).id, id) << space.describe(parent.genotype);
      for (std::size_t p = 0; p < child->choices.size(); ++p) {
        EXPECT_TRUE(parent.used[p] || child->choices[p] == parent.genotype.choices[p]);
      }
    }
  }
}

TEST(Variation, MutationReachesEveryOtherValueOfAUsedParameter) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  RandomStream random(14);
  const Genotype parent{{4, 1, 2}};
  std::set<std::uint32_t> depths, kernels, widths;
  int changes = 0;
  constexpr int kDraws = 2000;
  for (int i = 0; i < kDraws; ++i) {
    const Genotype child = *space.mutate(parent, 0.3, random);
    depths.insert(child.choices[0]);
    kernels.insert(child.choices[1]);
    widths.insert(child.choices[2]);
    for (std::size_t p = 0; p < 3; ++p) changes += child.choices[p] != parent.choices[p] ? 1 : 0;
  }
  EXPECT_EQ(depths.size(), 12U);
  EXPECT_EQ(kernels.size(), 4U);
  EXPECT_EQ(widths.size(), 4U);
  // Three draws at 0.3, and one change at least: 0.9 + 0.7^3 changes on average.
  EXPECT_NEAR(static_cast<double>(changes) / kDraws, 0.9 + 0.343, 0.05);
}

TEST(Variation, MutationFindsTheOnlyOtherArchitecture) {
  std::string values = "64";
  for (int i = 65; i < 1000; ++i) values += ", " + std::to_string(i);
  const SearchSpace space = space_from_yaml("parameters: {w: {choice: [1, " + values + "]}}\nnetwork:\n" +
                                            "  - conv2d: {channels: \"min($w, 64)\", kernel: 1}\n"
                                            "  - global_average_pool\n  - linear: {features: $classes}");
  RandomStream random(15);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(space.mutate({{5}}, 0.3, random)->choices[0], 0U);
}

TEST(Variation, MutationGivesUpWhenNothingElseBuilds) {
  const SearchSpace space = space_from_yaml(R"yaml(
parameters: {w: {choice: [64, 65, 66]}, k: {choice: [3, 31]}}
network:
  - conv2d: {channels: "min($w, 64)", kernel: $k, padding: 0}
  - global_average_pool
  - linear: {features: $classes})yaml");
  RandomStream random(16);
  EXPECT_FALSE(space.mutate({{0, 0}}, 0.3, random));
}

TEST(Variation, CrossoverDiffersFromBothParentsAndMixesTheirValues) {
  RandomStream random(17);
  int children = 0;
  for (int round = 0; round < 30; ++round) {
    const SearchSpace space = random_space(random);
    const auto ids = all_ids(space);
    for (int i = 0; i < 50; ++i) {
      const auto first = std::next(ids.begin(), static_cast<std::ptrdiff_t>(random.below(ids.size())));
      const auto second = std::next(ids.begin(), static_cast<std::ptrdiff_t>(random.below(ids.size())));
      const Genotype father = space.genotype_at(first->first);
      const Genotype mother = space.genotype_at(second->first);
      const auto child = space.cross(space.build(father), space.build(mother), random);
      if (!child) continue;
      ++children;
      const ArchId id = space.build(*child).id;
      EXPECT_NE(id, first->second);
      EXPECT_NE(id, second->second);
      for (std::size_t p = 0; p < child->choices.size(); ++p) {
        EXPECT_TRUE(child->choices[p] == father.choices[p] || child->choices[p] == mother.choices[p]);
      }
    }
  }
  EXPECT_GT(children, 300);
}

TEST(Variation, CrossoverOfEqualParentsGivesNothing) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  RandomStream random(18);
  const Architecture parent = space.build({{3, 1, 1}});
  EXPECT_FALSE(space.cross(parent, parent, random));
  EXPECT_FALSE(space.cross(parent, space.build({{4, 1, 1}}), random));
  EXPECT_TRUE(space.cross(parent, space.build({{4, 2, 1}}), random));
}

}  // namespace
}  // namespace skyline::space
