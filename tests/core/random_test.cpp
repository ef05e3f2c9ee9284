#include "skyline/core/random.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"

#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace skyline {
namespace {

TEST(RandomStream, GivesTheSameNumbersForOneSeedForEver) {
  RandomStream random(0);  // reference: the authors' C code, seeded by SplitMix64 from 0
  EXPECT_EQ(random.next(), 0x99ec5f36cb75f2b4U);
  EXPECT_EQ(random.next(), 0xbf6e1f784956452aU);
  EXPECT_EQ(random.next(), 0x1a5f849d4933e6e0U);
}

TEST(RandomStream, BelowStaysBelowAndIsEven) {
  RandomStream random(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts.at(random.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(random.below(1), 0U);
  EXPECT_THROW(random.below(0), InternalError);
}

TEST(RandomStream, BelowHasNoBiasForBoundsThatDoNotDivideTheRange) {
  RandomStream random(2);
  const std::uint64_t bound = std::uint64_t{3} << 62;  // plain multiplication would favour every third number
  int thirds[3] = {0, 0, 0};
  for (int i = 0; i < 30'000; ++i) ++thirds[random.below(bound) % 3];
  for (const int count : thirds) EXPECT_NEAR(count, 10'000, 500);
}

TEST(RandomStream, UniformLiesInTheUnitInterval) {
  RandomStream random(3);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(RandomStream, WeightedFollowsTheWeightsAndNeverDrawsZero) {
  RandomStream random(4);
  const std::vector<double> weights{1, 0, 3};
  std::array<int, 3> counts{};
  for (int i = 0; i < 40'000; ++i) ++counts.at(random.weighted(weights));
  EXPECT_NEAR(counts[0], 10'000, 500);
  EXPECT_EQ(counts[1], 0);
  EXPECT_THROW(random.weighted(std::vector<double>{0, 0}), InternalError);
  EXPECT_THROW(random.weighted(std::vector<double>{2, -1}), InternalError);
}

TEST(RandomStream, ShuffleReachesEveryOrderAboutEquallyOften) {
  RandomStream random(5);
  std::multiset<std::vector<int>> orders;
  for (int i = 0; i < 6'000; ++i) {
    std::vector<int> values{1, 2, 3};
    random.shuffle(std::span<int>(values));
    orders.insert(values);
  }
  std::vector<int> order{1, 2, 3};
  do {
    EXPECT_NEAR(static_cast<double>(orders.count(order)), 1'000, 150);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(DeriveSeed, DependsOnSeedPurposeAndEveryNumberAndTheirOrder) {
  const std::set<std::uint64_t> seeds{derive_seed(1, "search"),        derive_seed(2, "search"),
                                      derive_seed(1, "train"),         derive_seed(1, "train", {0}),
                                      derive_seed(1, "train", {1, 2}), derive_seed(1, "train", {2, 1})};
  EXPECT_EQ(seeds.size(), 6U);
}

TEST(DeriveSeed, IsTheHashOfATextThatNoVersionChanges) {
  EXPECT_EQ(derive_seed(0x1F, "train", {1, ~std::uint64_t{0}}),
            stable_hash64("000000000000001f train 0000000000000001 ffffffffffffffff"));
}

}  // namespace
}  // namespace skyline
