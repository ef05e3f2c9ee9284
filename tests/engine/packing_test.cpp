#include "engine/packing.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;

double makespan(const std::vector<double>& costs, const std::vector<std::size_t>& slot_of,
                std::size_t slots) {
  std::vector<double> loads(slots, 0);
  for (std::size_t i = 0; i < costs.size(); ++i) loads[slot_of[i]] += costs[i];
  return *std::ranges::max_element(loads);
}

/// Tries every way to spread the trials.
double best_makespan(const std::vector<double>& costs, std::size_t slots) {
  std::vector<std::size_t> slot_of(costs.size(), 0);
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    best = std::min(best, makespan(costs, slot_of, slots));
    std::size_t i = 0;
    while (i < slot_of.size() && ++slot_of[i] == slots) slot_of[i++] = 0;
    if (i == slot_of.size()) return best;
  }
}

TEST(Pack, PutsTheLongestOntoSlotsOfTheirOwn) {
  EXPECT_THAT(pack(std::vector<double>{1, 9, 1, 8, 1}, 2, 5), ElementsAre(1, 0, 0, 1, 1));
}

TEST(Pack, BreaksTiesByOrder) {
  EXPECT_THAT(pack(std::vector<double>{3, 3, 3, 3}, 3, 4), ElementsAre(0, 1, 2, 0));
}

TEST(Pack, TakesNoTrials) {
  EXPECT_TRUE(pack({}, 3, 1).empty());
}

TEST(Pack, RefusesCostsThatAreNoCosts) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(pack(std::vector<double>{1, bad}, 2, 2), InternalError);
  }
}

TEST(Pack, RefusesMoreTrialsThanFit) {
  EXPECT_THROW(pack(std::vector<double>{1, 1, 1}, 2, 1), InternalError);
}

TEST(Pack, KeepsToTheCapacityOfASlot) {
  const auto slot_of = pack(std::vector<double>{10, 1, 1, 1}, 2, 2);
  EXPECT_EQ(std::ranges::count(slot_of, 0U), 2);
  EXPECT_EQ(std::ranges::count(slot_of, 1U), 2);
}

TEST(Pack, StaysWithinGrahamsBoundOfTheBestOfAll) {
  RandomStream random(3);
  for (int round = 0; round < 200; ++round) {
    const std::size_t slots = 2 + random.below(2);
    std::vector<double> costs(1 + random.below(8));
    for (double& cost : costs) cost = 1 + static_cast<double>(random.below(20));
    const double found = makespan(costs, pack(costs, slots, costs.size()), slots);
    const double bound = 4.0 / 3.0 - 1.0 / (3.0 * static_cast<double>(slots));
    ASSERT_LE(found, bound * best_makespan(costs, slots) + 1e-9);
  }
}

}  // namespace
}  // namespace skyline::engine
