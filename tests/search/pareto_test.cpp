#include "search/pareto/pareto.hpp"

#include "skyline/core/error.hpp"

#include "search/random_points.hpp"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using ::testing::ElementsAre;
using testing::trade_off_points;
using testing::whole_points;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::span<const double> row(const std::vector<double>& values, std::size_t columns, std::size_t index) {
  return std::span(values).subspan(index * columns, columns);
}

bool obviously_dominates(std::span<const double> left, std::span<const double> right) {
  bool nowhere_worse = true;
  bool somewhere_better = false;
  for (std::size_t column = 0; column < left.size(); ++column) {
    if (left[column] > right[column]) nowhere_worse = false;
    if (left[column] < right[column]) somewhere_better = true;
  }
  return nowhere_worse && somewhere_better;
}

/// Rank by definition: peel off the points that no remaining one dominates, again and again.
std::vector<std::size_t> peeled_ranks(const std::vector<double>& values, std::size_t columns) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  const std::size_t count = values.size() / columns;
  std::vector<std::size_t> ranks(count, kNone);
  for (std::size_t rank = 0, ranked = 0; ranked < count; ++rank) {
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < count; ++i) {
      bool dominated = ranks[i] != kNone;
      for (std::size_t j = 0; j < count && !dominated; ++j) {
        dominated =
            ranks[j] == kNone && obviously_dominates(row(values, columns, j), row(values, columns, i));
      }
      if (!dominated) front.push_back(i);
    }
    for (const std::size_t i : front) ranks[i] = rank;
    ranked += front.size();
  }
  return ranks;
}

std::vector<std::size_t> indices_of_rank_zero(const std::vector<std::size_t>& ranks) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == 0) front.push_back(i);
  }
  return front;
}

/// Random tables of every size up to 60 points: coarse grids with ties and duplicates, and trade-offs.
template <typename Check>
void for_random_tables(Check&& check) {
  RandomStream random(7);
  for (std::size_t columns = 1; columns <= 5; ++columns) {
    for (std::size_t count = 0; count <= 60; count += 1 + count / 8) {
      check(whole_points(random, count, columns, 2), columns);
      check(whole_points(random, count, columns, 12), columns);
      check(trade_off_points(random, count, columns), columns);
    }
  }
}

TEST(Dominance, NeedsOneBetterColumnAndNoWorseOne) {
  const std::vector<double> base{1, 2};
  EXPECT_TRUE(dominates(std::vector<double>{1, 1}, base));
  EXPECT_TRUE(dominates(std::vector<double>{0, 0}, base));
  EXPECT_FALSE(dominates(base, base));
  EXPECT_FALSE(dominates(std::vector<double>{0, 3}, base));
  EXPECT_FALSE(dominates(base, std::vector<double>{0, 0}));
}

TEST(ParetoFront, AgreesWithTheDefinitionForOneToFiveColumns) {
  for_random_tables([](const std::vector<double>& values, std::size_t columns) {
    EXPECT_EQ(pareto_front(values, columns), indices_of_rank_zero(peeled_ranks(values, columns)))
        << columns << " columns, " << values.size() / columns << " points";
  });
}

TEST(ParetoFront, KeepsAllEqualPoints) {
  EXPECT_THAT(pareto_front(std::vector<double>{1, 2, 3, 3, 1, 2, 2, 1}, 2), ElementsAre(0, 2, 3));
}

TEST(ParetoFront, TakesInfiniteValues) {
  EXPECT_THAT(pareto_front(std::vector<double>{kInfinity, 0, 1, 1, kInfinity, 1, -kInfinity, 5}, 2),
              ElementsAre(0, 1, 3));
}

TEST(ParetoFront, RefusesNanAndRaggedTables) {
  EXPECT_THROW(pareto_front(std::vector<double>{1, kNan}, 2), InternalError);
  EXPECT_THROW(non_dominated_ranks(std::vector<double>{1, kNan}, 2), InternalError);
  EXPECT_THROW(pareto_front(std::vector<double>{1, 2, 3}, 2), InternalError);
  EXPECT_THROW(pareto_front({}, 0), InternalError);
}

TEST(NonDominatedRanks, AgreeWithPeelingFrontByFront) {
  for_random_tables([](const std::vector<double>& values, std::size_t columns) {
    EXPECT_EQ(non_dominated_ranks(values, columns), peeled_ranks(values, columns))
        << columns << " columns, " << values.size() / columns << " points";
  });
}

TEST(NonDominatedRanks, OfAChainCountUp) {
  EXPECT_THAT(non_dominated_ranks(std::vector<double>{2, 2, 0, 0, 1, 1, 2, 2}, 2), ElementsAre(2, 0, 1, 2));
}

TEST(ParetoArchive, HoldsTheFrontOfEverythingInsertedAfterEachInsertion) {
  for_random_tables([](const std::vector<double>& values, std::size_t columns) {
    ParetoArchive archive(columns);
    std::vector<double> inserted;
    std::vector<std::size_t> before;
    for (std::size_t key = 0; key < values.size() / columns; ++key) {
      const std::span<const double> point = row(values, columns, key);
      inserted.insert(inserted.end(), point.begin(), point.end());
      std::vector<std::size_t> removed;
      const bool on_front = archive.insert(key, point, &removed);

      const std::vector<std::size_t> expected = pareto_front(inserted, columns);
      ASSERT_EQ(archive.keys(), expected);
      EXPECT_EQ(on_front, std::find(expected.begin(), expected.end(), key) != expected.end());
      EXPECT_EQ(archive.contains(key), on_front);
      std::vector<std::size_t> gone;
      std::set_difference(before.begin(), before.end(), expected.begin(), expected.end(),
                          std::back_inserter(gone));
      EXPECT_EQ(removed, gone);
      before = expected;
    }
    for (std::size_t position = 0; position < archive.size(); ++position) {
      EXPECT_TRUE(
          std::ranges::equal(archive.values_of(position), row(values, columns, archive.keys()[position])));
    }
  });
}

TEST(ParetoArchive, RefusesNanAndAnotherNumberOfObjectives) {
  ParetoArchive archive(2);
  EXPECT_THROW(archive.insert(0, std::vector<double>{1, kNan}), InternalError);
  EXPECT_THROW(archive.insert(0, std::vector<double>{1, 2, 3}), InternalError);
  EXPECT_EQ(archive.size(), 0U);
}

}  // namespace
}  // namespace skyline::search
