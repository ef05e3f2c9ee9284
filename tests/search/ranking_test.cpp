#include "search/pareto/ranking.hpp"

#include "skyline/core/random.hpp"
#include "skyline/search/pareto.hpp"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using PointList = std::vector<std::vector<double>>;
using ::testing::ElementsAre;

constexpr double kAtTheEnd = std::numeric_limits<double>::infinity();

/// Takes one front after the other away, as the definition says.
std::vector<std::size_t> ranks_by_peeling(const PointList& points) {
  std::vector<std::size_t> ranks(points.size(), points.size());
  for (std::size_t rank = 0; std::ranges::find(ranks, points.size()) != ranks.end(); ++rank) {
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool is_beaten = ranks[i] < rank;
      for (std::size_t j = 0; j < points.size(); ++j) {
        is_beaten = is_beaten || (ranks[j] >= rank && dominates(points[j], points[i]));
      }
      if (!is_beaten) front.push_back(i);
    }
    for (const std::size_t i : front) ranks[i] = rank;
  }
  return ranks;
}

TEST(FrontRanks, AreThoseOfTakingOneFrontAfterTheOtherAway) {
  RandomStream random(1);
  for (const std::size_t columns : {1U, 2U, 3U}) {
    for (int i = 0; i < 20; ++i) {
      PointList points(40, std::vector<double>(columns));
      for (auto& point : points) {
        for (double& value : point) value = static_cast<double>(random.below(8));  // so that some are equal
      }
      EXPECT_EQ(front_ranks(points), ranks_by_peeling(points));
    }
  }
  EXPECT_THAT(front_ranks({}), ElementsAre());
}

TEST(CrowdingDistances, AreThoseOfThePaper) {
  const PointList points{{0, 10}, {1, 6}, {2, 5}, {10, 0}, {11, 11}, {11, 11}};
  EXPECT_THAT(front_ranks(points), ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_THAT(crowding_distances(points, front_ranks(points)),
              ElementsAre(kAtTheEnd, 0.2 + 0.5, 0.9 + 0.6, kAtTheEnd, kAtTheEnd, kAtTheEnd));
}

}  // namespace
}  // namespace skyline::search
