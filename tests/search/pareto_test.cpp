#include "skyline/search/pareto.hpp"

#include "skyline/core/error.hpp"

#include "support/random_points.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

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

/// The front by definition: the indices of the points that no other one dominates.
std::vector<std::size_t> front_of(const std::vector<double>& values, std::size_t columns) {
  const std::size_t count = values.size() / columns;
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < count; ++i) {
    bool dominated = false;
    for (std::size_t j = 0; j < count && !dominated; ++j) {
      dominated = obviously_dominates(row(values, columns, j), row(values, columns, i));
    }
    if (!dominated) front.push_back(i);
  }
  return front;
}

/// The keys in an archive after all points of two columns were inserted, their indices as keys.
std::vector<std::size_t> archived(const std::vector<double>& values) {
  ParetoArchive archive(2);
  for (std::size_t key = 0; key < values.size() / 2; ++key) archive.insert(key, row(values, 2, key));
  return archive.keys();
}

/// Random tables of every size up to 60 points, and 10,000 small ones: coarse grids with ties and duplicates,
/// and trade-offs.
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
  for (int table = 0; table < 10000; ++table) {
    const std::size_t columns = 2 + random.below(4);
    const std::size_t count = random.below(10);
    check(table % 2 == 0 ? whole_points(random, count, columns, 4) : trade_off_points(random, count, columns),
          columns);
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

TEST(ParetoArchive, KeepsAllEqualPoints) {
  EXPECT_THAT(archived({1, 2, 3, 3, 1, 2, 2, 1}), ElementsAre(0, 2, 3));
}

TEST(ParetoArchive, NamesTheFirstOfEqualPointsAlone) {
  ParetoArchive front(2);
  std::size_t key = 0;
  for (const double value : {1.0, 2.0, 1.0, 1.0, 2.0}) front.insert(key++, std::vector{value, -value});
  EXPECT_EQ(keys_with_few_ties(front, 1), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(keys_with_few_ties(front, 2), (std::vector<std::size_t>{0, 1, 2, 4}));
  EXPECT_EQ(keys_with_few_ties(front, 3), front.keys());
}

TEST(ParetoArchive, TakesInfiniteValues) {
  EXPECT_THAT(archived({kInfinity, 0, 1, 1, kInfinity, 1, -kInfinity, 5}), ElementsAre(0, 1, 3));
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

      const std::vector<std::size_t> expected = front_of(inserted, columns);
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
