// Conditions between parameters: `where`.
#include "space/space_from_yaml.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::space {
namespace {

using skyline::testing::user_error_of;
using ::testing::HasSubstr;

/// A space of layers `linear`, one for each name, of whose widths each is written like `{range: [1, 40]}`.
std::string chain_text(const std::vector<std::string>& names, const std::string& range,
                       const std::string& where) {
  std::string text = "parameters:\n";
  for (const std::string& name : names) text += "  " + name + ": " + range + "\n";
  text += "network:\n  - global_average_pool\n";
  for (const std::string& name : names) text += "  - linear: {features: $" + name + "}\n";
  return text + "  - linear: {features: $classes}\nwhere: " + where + "\n";
}

const std::vector<std::string> kSix{"w1", "w2", "w3", "w4", "w5", "w6"};
const std::string kMayNotShrink = "[$w2 >= $w1, $w3 >= $w2, $w4 >= $w3, $w5 >= $w4, $w6 >= $w5]";

SearchSpace six_widths() {
  return space_from_yaml(chain_text(kSix, "{range: [8, 320, 8]}", kMayNotShrink));
}

std::vector<Genotype> kept_genotypes(const SearchSpace& space) {
  std::vector<Genotype> kept;
  for (std::int64_t number = 0; number < space.genotype_count(); ++number) {
    if (space.try_build(space.genotype_at(number)).architecture) kept.push_back(space.genotype_at(number));
  }
  return kept;
}

/// The number of ways to choose `chosen` of `all`.
double binomial(int all, int chosen) {
  double ways = 1;
  for (int i = 1; i <= chosen; ++i) ways *= static_cast<double>(all - chosen + i) / i;
  return ways;
}

/// Non-decreasing sequences of this length among so many values.
double sequences(int length, int values) {
  return binomial(values + length - 1, length);
}

/// Expects that counts fit expected ones at 1 %. Cells of which fewer than five are expected count as one.
void expect_fit(const std::map<std::pair<int, int>, double>& expected,
                const std::map<std::pair<int, int>, int>& counted, const std::string& what) {
  double statistic = 0;
  double cells = -1;
  double rare_expected = 0;
  double rare_counted = 0;
  const auto add = [&](double wanted, double found) {
    statistic += (found - wanted) * (found - wanted) / wanted;
    ++cells;
  };
  for (const auto& [cell, wanted] : expected) {
    const auto found = counted.find(cell);
    const double times = found == counted.end() ? 0 : found->second;
    if (wanted >= 5) {
      add(wanted, times);
    } else {
      rare_expected += wanted;
      rare_counted += times;
    }
  }
  if (rare_expected > 0) add(rare_expected, rare_counted);
  const double spread = 2 / (9 * cells);
  const double limit = cells * std::pow(1 - spread + 2.326 * std::sqrt(spread), 3);  // Wilson and Hilferty
  EXPECT_LT(statistic, limit) << what << " with " << cells << " degrees of freedom";
}

TEST(SpaceConditions, CountsTheGenotypesOfAChainExactly) {
  EXPECT_EQ(six_widths().count_kept(), 8'145'060.0L);
  EXPECT_EQ(space_from_yaml(chain_text(kSix, "{range: [1, 4]}", kMayNotShrink)).count_kept(),
            static_cast<long double>(sequences(6, 4)));
}

TEST(SpaceConditions, DrawsAChainUniformly) {
  constexpr int kDraws = 20'000;
  constexpr int kValues = 40;
  const SearchSpace space = six_widths();
  RandomStream random(7);
  using Counts = std::map<std::pair<int, int>, int>;
  std::vector<Counts> singles(6);
  std::vector<Counts> pairs(5);
  for (int i = 0; i < kDraws; ++i) {
    const Genotype drawn = space.sample(random);
    for (std::size_t w = 0; w < 6; ++w) {
      const auto here = static_cast<int>(drawn.choices[w]);
      ++singles[w][{here, 0}];
      if (w < 5) ++pairs[w][{here, static_cast<int>(drawn.choices[w + 1])}];
    }
  }
  const double all = sequences(6, kValues);
  for (int w = 0; w < 6; ++w) {
    std::map<std::pair<int, int>, double> single;
    std::map<std::pair<int, int>, double> pair;
    for (int low = 0; low < kValues; ++low) {
      single[{low, 0}] = kDraws * sequences(w, low + 1) * sequences(5 - w, kValues - low) / all;
      for (int high = low; high < kValues && w < 5; ++high) {
        pair[{low, high}] = kDraws * sequences(w, low + 1) * sequences(4 - w, kValues - high) / all;
      }
    }
    const auto place = static_cast<std::size_t>(w);
    expect_fit(single, singles[place], "w" + std::to_string(w + 1));
    if (w < 5) expect_fit(pair, pairs[place], "the pair from w" + std::to_string(w + 1));
    for (const auto& [cell, times] : w < 5 ? pairs[place] : Counts()) EXPECT_LE(cell.first, cell.second);
  }
}

TEST(SpaceConditions, DrawsOneGenotypeOfAMillion) {
  // Strictly growing: 20 choose 10 of 20^10 genotypes, which is one of 55 million.
  const std::vector<std::string> ten{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  const SearchSpace space =
      space_from_yaml(chain_text(ten, "{range: [1, 20]}",
                                 "$a < $b and $b < $c and $c < $d and $d < $e and $e < $f and $f < $g and "
                                 "$g < $h and $h < $i and $i < $j"));
  EXPECT_EQ(space.count_kept(), static_cast<long double>(std::round(binomial(20, 10))));
  RandomStream random(1);
  std::set<std::vector<std::uint32_t>> drawn;
  for (int i = 0; i < 2'100; ++i) drawn.insert(space.sample(random).choices);
  EXPECT_GE(drawn.size(), 2'000U);
  for (const std::vector<std::uint32_t>& choices : drawn) {
    EXPECT_TRUE(std::ranges::is_sorted(choices));
  }
}

TEST(SpaceConditions, DrawsByTheWeightsAmongTheGenotypesThatKeepIt) {
  const SearchSpace space = space_from_yaml(
      "parameters:\n  a: {choice: [1, 2, 3], weights: [1, 2, 3]}\n  b: {choice: [1, 2, 3], weights: [3, 1, "
      "1]}\n"
      "  c: {choice: [1, 2], weights: [3, 1]}\n"
      "network: [global_average_pool, linear: {features: $a * $b * $c}, linear: {features: $classes}]\n"
      "where: $a == $b or $c == 2\n");
  constexpr int kDraws = 20'000;
  std::map<std::pair<int, int>, double> expected;
  double total = 0;
  for (const Genotype& kept : kept_genotypes(space)) {
    double weight = 1;
    for (std::size_t p = 0; p < 3; ++p) weight *= space.parameters()[p].weights[kept.choices[p]];
    expected[{static_cast<int>(kept.choices[0] * 3 + kept.choices[1]), static_cast<int>(kept.choices[2])}] =
        weight;
    total += weight;
  }
  EXPECT_EQ(space.count_kept(), static_cast<long double>(expected.size()));
  for (auto& [cell, weight] : expected) weight *= kDraws / total;
  std::map<std::pair<int, int>, int> counted;
  RandomStream random(3);
  for (int i = 0; i < kDraws; ++i) {
    const Genotype drawn = space.sample(random);
    ++counted[{static_cast<int>(drawn.choices[0] * 3 + drawn.choices[1]),
               static_cast<int>(drawn.choices[2])}];
  }
  expect_fit(expected, counted, "a, b and c");
}

TEST(SpaceConditions, DrawsManyParametersThatHangTogetherByABoundedSearch) {
  // The tables of this condition would be too large. About one of 10^9 genotypes keeps it.
  const std::vector<std::string> eight{"a", "b", "c", "d", "e", "f", "g", "h"};
  const SearchSpace space =
      space_from_yaml(chain_text(eight, "{range: [1, 40]}", "$a + $b + $c + $d + $e + $f + $g + $h <= 24"));
  EXPECT_FALSE(space.count_kept());
  RandomStream random(1);
  std::set<std::vector<std::uint32_t>> drawn;
  for (int i = 0; i < 100; ++i) {
    const Genotype genotype = space.sample(random);
    EXPECT_TRUE(space.try_build(genotype).architecture) << space.describe(genotype);
    drawn.insert(genotype.choices);
  }
  EXPECT_GT(drawn.size(), 90U);
}

TEST(SpaceConditions, DrawsPlainComparisonsOfAllPairsByABoundedSearch) {
  std::vector<std::string> names;
  std::string where;
  for (std::size_t i = 0; i < 24; ++i) {
    names.push_back("p" + std::to_string(i));
    for (std::size_t j = 0; j < i; ++j)
      where += (where.empty() ? "$" : ", $") + names[j] + " != $" + names[i];
  }
  const SearchSpace space = space_from_yaml(chain_text(names, "{range: [1, 28]}", "[" + where + "]"));
  EXPECT_FALSE(space.count_kept());
  RandomStream random(1);
  for (int i = 0; i < 3; ++i) {
    const std::vector<std::uint32_t> choices = space.sample(random).choices;
    EXPECT_EQ(std::set(choices.begin(), choices.end()).size(), names.size());
  }
}

TEST(SpaceConditions, HoldsForMutantsAndCrossovers) {
  const SearchSpace space = space_from_yaml(chain_text(kSix, "{range: [1, 6]}", kMayNotShrink));
  RandomStream random(5);
  for (int i = 0; i < 200; ++i) {
    const Genotype first = space.sample(random);
    const Genotype second = space.sample(random);
    for (const auto& child :
         {space.mutate(first, 0.3, random), space.cross(space.build(first), space.build(second), random)}) {
      if (!child) continue;
      EXPECT_TRUE(std::ranges::is_sorted(child->choices)) << space.describe(*child);
      EXPECT_NE(*child, first);
    }
  }
}

TEST(SpaceConditions, LetsMutationReachWhatNoSingleChangeReaches) {
  const SearchSpace space =
      space_from_yaml(chain_text({"a", "b", "c"}, "{range: [1, 5]}", "[$a == $b, $b == $c]"));
  RandomStream random(2);
  std::set<std::vector<std::uint32_t>> reached;
  for (int i = 0; i < 200; ++i) reached.insert(space.mutate({{2, 2, 2}}, 0.3, random)->choices);
  EXPECT_EQ(reached.size(), 4U);
  const auto child = space.cross(space.build({{1, 1, 1}}), space.build({{3, 3, 3}}), random);
  EXPECT_FALSE(child) << "only the parents themselves keep the conditions";
}

TEST(SpaceConditions, ChangesTheFewestOthersForAGivenChoice) {
  const SearchSpace space =
      space_from_yaml(chain_text({"a", "b", "c"}, "{range: [1, 9]}", "$a <= $b and $b <= $c"));
  RandomStream random(2);
  const auto inner = space.with_choice({{2, 4, 6}}, 1, 5, random);
  EXPECT_EQ(inner->choices, (std::vector<std::uint32_t>{2, 5, 6}));
  const auto beyond = space.with_choice({{2, 4, 6}}, 0, 7, random);
  ASSERT_TRUE(beyond);
  EXPECT_EQ(beyond->choices[0], 7U);
  EXPECT_TRUE(std::ranges::is_sorted(beyond->choices));
}

TEST(SpaceConditions, MayNameTheValuesOfAParameterAtItsPlaces) {
  const SearchSpace space = space_from_yaml(
      "parameters:\n  w: {range: [1, 5], each: true}\n"
      "network:\n  - global_average_pool\n  - repeat: 3\n    body: [linear: {features: $w}]\n"
      "  - linear: {features: $classes}\n"
      "where: [$w.1 <= $w.0, $w.2 <= $w.1]\n");
  EXPECT_EQ(space.count_kept(), 35.0L);
  EXPECT_THAT(user_error_of([] {
                space_from_yaml(
                    "parameters: {w: {range: [1, 5], each: true}}\n"
                    "network: [global_average_pool, repeat: 2, body: [linear: {features: $w}]]\n"
                    "where: $w > 1\n");
              }),
              HasSubstr("space.network"));
}

TEST(SpaceConditions, SaysWhichConditionAGenotypeBreaks) {
  const SearchSpace space = space_from_yaml(chain_text({"a", "b"}, "{range: [1, 3]}", "$a < $b"));
  const BuildAttempt attempt = space.try_build({{2, 0}});
  EXPECT_FALSE(attempt.architecture);
  EXPECT_EQ(attempt.problem, "a.yaml:9:8: space.where: `$a < $b` does not hold, for a=3 b=1");
  EXPECT_EQ(user_error_of([&] { (void)space.build({{2, 0}}); }), attempt.problem);
}

TEST(SpaceConditions, RefusesWhatIsNoConditionAndWhatNothingKeeps) {
  const auto error_of = [](const std::string& where) {
    return user_error_of([&] { space_from_yaml(chain_text({"a", "b"}, "{range: [1, 3]}", where)); });
  };
  EXPECT_EQ(error_of("$a + $b"),
            "a.yaml:9:8: space.where: expected a condition, for example $w2 >= $w1, got $a + $b");
  EXPECT_EQ(error_of("[$a < $b, {a: 1}]"),
            "a.yaml:9:18: space.where[1]: expected a condition, for example $w2 >= $w1, got a map");
  EXPECT_EQ(error_of("$a < $bb"),
            "a.yaml:9:8: space.where: in `$a < $bb`: unknown parameter `$bb`, did you mean `$b`?");
  EXPECT_EQ(error_of("[$a < $b, $b < $a]"),
            "a.yaml:9:8: space.where: no combination of parameters keeps all conditions");
  EXPECT_THAT(user_error_of([] {
                space_from_yaml(
                    "parameters: {a: {range: [1, 2]}, b: {range: [1, 2]}}\n"
                    "network: [global_average_pool, linear: {features: $a}, linear: {features: "
                    "$classes}]\nwhere: $a <= $b\n");
              }),
              HasSubstr("space.parameters.b: nothing uses this parameter"));
}

TEST(SpaceConditions, ChangesNoDrawOfASpaceWithoutIt) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  RandomStream random(11);
  RandomStream same(11);
  for (int i = 0; i < 50; ++i) {
    Genotype expected;
    for (const Parameter& parameter : space.parameters()) {
      expected.choices.push_back(static_cast<std::uint32_t>(same.weighted(parameter.weights)));
    }
    EXPECT_EQ(space.sample(random), expected);
  }
  EXPECT_EQ(space.count_kept(), static_cast<long double>(space.genotype_count()));
}

TEST(GenotypeWalk, MeetsEveryArchitectureInOrderWithoutGenotypesThatDifferInNothing) {
  const SearchSpace space = space_from_yaml(R"(
parameters:
  depth: {range: [0, 2]}
  width: {range: [1, 3]}
  kernel: {choice: [1, 2, 40]}
network:
  - repeat: $depth
    body: [conv2d: {channels: $width, kernel: $kernel, padding: 0}]
  - global_average_pool
  - linear: {features: $classes}
)");
  std::vector<ArchId> expected;
  for (std::int64_t number = 0; number < space.genotype_count(); ++number) {
    const BuildAttempt attempt = space.try_build(space.genotype_at(number));
    if (!attempt.architecture) continue;
    if (std::ranges::find(expected, attempt.architecture->id) == expected.end()) {
      expected.push_back(attempt.architecture->id);
    }
  }
  std::vector<ArchId> met;
  int looks = 0;
  for (GenotypeWalk walk(space); !walk.finished(); ++looks) {
    const BuildAttempt attempt = space.try_build(walk.current());
    if (attempt.architecture) met.push_back(attempt.architecture->id);
    walk.advance(attempt.reads);
  }
  EXPECT_EQ(met, expected);
  EXPECT_EQ(looks, 1 + 2 * 3 * 3) << "no block, whatever its width and kernel, then all others";
}

TEST(GenotypeWalk, PassesOverAllGenotypesThatBreakAConditionForTheSameReason) {
  const SearchSpace space = space_from_yaml(chain_text(kSix, "{range: [1, 5]}", kMayNotShrink));
  int looks = 0;
  int kept = 0;
  for (GenotypeWalk walk(space); !walk.finished(); ++looks) {
    EXPECT_LT(walk.share(), 1);
    const BuildAttempt attempt = space.try_build(walk.current());
    if (attempt.architecture) ++kept;
    walk.advance(attempt.reads);
  }
  EXPECT_EQ(kept, static_cast<int>(sequences(6, 5)));
  EXPECT_LT(looks, 5 * kept) << "of 15,625 genotypes";
}

}  // namespace
}  // namespace skyline::space
