#include "skyline/core/error.hpp"
#include "skyline/search/pareto.hpp"

#include "support/random_points.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::trade_off_points;
using testing::whole_points;

/// Counts the unit cells below `edge` that some point dominates. Points and reference are whole numbers.
double counted_cells(const std::vector<double>& values, std::size_t columns, std::size_t edge) {
  std::vector<std::size_t> cell(columns, 0);
  double cells = 0;
  while (true) {
    bool covered = false;
    for (std::size_t first = 0; first < values.size() && !covered; first += columns) {
      covered = true;
      for (std::size_t column = 0; column < columns; ++column) {
        covered = covered && values[first + column] <= static_cast<double>(cell[column]);
      }
    }
    cells += covered ? 1 : 0;
    std::size_t column = 0;
    while (column < columns && ++cell[column] == edge) cell[column++] = 0;
    if (column == columns) return cells;
  }
}

/// Inclusion and exclusion over all subsets of the points' boxes.
double included_and_excluded(const std::vector<double>& values, const std::vector<double>& reference) {
  const std::size_t columns = reference.size();
  const std::size_t count = values.size() / columns;
  double total = 0;
  for (std::size_t subset = 1; subset < (std::size_t{1} << count); ++subset) {
    std::vector<double> corner(columns, -std::numeric_limits<double>::infinity());
    double sign = -1;
    for (std::size_t point = 0; point < count; ++point) {
      if ((subset >> point & 1) == 0) continue;
      sign = -sign;
      for (std::size_t column = 0; column < columns; ++column) {
        corner[column] = std::max(corner[column], values[point * columns + column]);
      }
    }
    double volume = 1;
    for (std::size_t column = 0; column < columns; ++column) {
      volume *= std::max(0.0, reference[column] - corner[column]);
    }
    total += sign * volume;
  }
  return total;
}

TEST(Hypervolume, AgreesWithCountingCellsOfAGrid) {
  RandomStream random(3);
  for (std::size_t columns = 1; columns <= 5; ++columns) {
    const std::size_t edge = columns <= 3 ? 9 : 5;
    const std::vector<double> reference(columns, static_cast<double>(edge));
    for (std::size_t count = 0; count <= 30; count += 3) {
      const std::vector<double> values = whole_points(random, count, columns, edge);
      EXPECT_EQ(hypervolume(values, reference), counted_cells(values, columns, edge))
          << columns << " columns, " << count << " points";
    }
  }
}

TEST(Hypervolume, AgreesWithInclusionAndExclusionOnTenThousandSets) {
  RandomStream random(5);
  for (int set = 0; set < 10000; ++set) {
    const std::size_t columns = 2 + random.below(4);
    const std::size_t count = random.below(set % 20 == 0 ? 11 : 7);
    const bool whole = set % 2 == 0;
    const std::vector<double> values =
        whole ? whole_points(random, count, columns, 4) : trade_off_points(random, count, columns);
    std::vector<double> reference(columns, whole ? 3.0 : 0.9);
    reference.back() = whole ? 4 : 0.7;
    ASSERT_NEAR(hypervolume(values, reference), included_and_excluded(values, reference), whole ? 0 : 1e-12)
        << columns << " columns, " << count << " points, set " << set;
  }
}

TEST(Hypervolume, CountsNothingForPointsThatDoNotDominateTheReference) {
  EXPECT_EQ(hypervolume(std::vector<double>{3, 1, 1, 3}, std::vector<double>{3, 3}), 0);
  EXPECT_EQ(hypervolume(std::vector<double>{3, 1, 1, 1, 4, 0}, std::vector<double>{3, 3}), 4);
  EXPECT_EQ(hypervolume({}, std::vector<double>{1, 1, 1}), 0);
}

TEST(Hypervolume, IsTheSameBitsForAnyOrderOfThePoints) {
  RandomStream random(9);
  std::vector<double> values = trade_off_points(random, 40, 3);
  const std::vector<double> reference{1, 1, 1};
  const double volume = hypervolume(values, reference);
  std::vector<double> reversed;
  for (std::size_t first = values.size(); first > 0; first -= 3) {
    reversed.insert(reversed.end(), values.begin() + static_cast<std::ptrdiff_t>(first - 3),
                    values.begin() + static_cast<std::ptrdiff_t>(first));
  }
  EXPECT_EQ(hypervolume(reversed, reference), volume);
}

TEST(Hypervolume, RefusesNan) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(hypervolume(std::vector<double>{1, kNan}, std::vector<double>{3, 3}), InternalError);
  EXPECT_THROW(hypervolume(std::vector<double>{1, 1}, std::vector<double>{3, kNan}), InternalError);
}

}  // namespace
}  // namespace skyline::search
