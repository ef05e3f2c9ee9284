#include "search/surrogate/lane_sums.hpp"

#include "skyline/core/random.hpp"

#include "search/surrogate/lanes.hpp"

#include <cstddef>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

constexpr std::size_t kMostColumns = 11;

/// Random numbers, with zeros behind them up to whole lanes.
std::vector<double> random_lanes(RandomStream& random, std::size_t count) {
  std::vector<double> lanes(static_cast<std::size_t>(whole_lanes(static_cast<Eigen::Index>(count))), 0.0);
  for (std::size_t i = 0; i < count; ++i) lanes[i] = 2 * random.uniform() - 1;
  return lanes;
}

std::vector<std::vector<double>> random_columns(RandomStream& random, std::size_t count) {
  std::vector<std::vector<double>> columns;
  for (std::size_t i = 0; i < kMostColumns; ++i) columns.push_back(random_lanes(random, count));
  return columns;
}

std::vector<const double*> begins_of(const std::vector<std::vector<double>>& columns, std::size_t count) {
  std::vector<const double*> begins;
  for (std::size_t i = 0; i < count; ++i) begins.push_back(columns[i].data());
  return begins;
}

/// The sums as a model has had them from the start: a lane after the other.
double plain_dot(const std::vector<double>& left, const std::vector<double>& right, std::size_t count) {
  return dot(left.data(), right.data(), static_cast<Eigen::Index>(count));
}

TEST(LaneSums, AreTheBitsOfOneProductAfterTheOther) {
  RandomStream random(1);
  for (const std::size_t count : {1U, 3U, 4U, 5U, 64U, 203U}) {
    const std::vector<double> left = random_lanes(random, count);
    const std::vector<std::vector<double>> columns = random_columns(random, count);
    for (std::size_t number = 1; number <= kMostColumns; ++number) {
      std::vector<double> products(number);
      std::vector<double> sums(number);
      dots(left.data(), begins_of(columns, number), count, products.data());
      squares(begins_of(columns, number), count, sums.data());
      for (std::size_t i = 0; i < number; ++i) {
        EXPECT_EQ(products[i], plain_dot(left, columns[i], count));
        EXPECT_EQ(sums[i], plain_dot(columns[i], columns[i], count));
      }
    }
  }
}

TEST(LaneSums, SolveATriangleToTheBitsOfOneRowAfterTheOther) {
  RandomStream random(2);
  const std::size_t rows = 75;
  std::vector<std::vector<double>> left;
  std::vector<double> diagonal;
  for (std::size_t row = 0; row < rows; ++row) {
    left.push_back(random_lanes(random, row));
    diagonal.push_back(1 + random.uniform());
  }
  const std::vector<std::vector<double>> sides = random_columns(random, rows);
  std::vector<std::vector<double>> expected = sides;
  for (std::vector<double>& column : expected) {
    for (std::size_t row = 0; row < rows; ++row)
      column[row] = (column[row] - plain_dot(left[row], column, row)) / diagonal[row];
  }
  for (std::size_t number = 1; number <= kMostColumns; ++number) {
    for (const std::size_t middle : {0U, 1U, 30U, 75U}) {  // rows are solved in two calls
      std::vector<std::vector<double>> actual = sides;
      std::vector<double*> begins;
      for (std::size_t i = 0; i < number; ++i) begins.push_back(actual[i].data());
      solve_rows({left, diagonal}, begins, 0, middle);
      solve_rows({left, diagonal}, begins, middle, rows);
      for (std::size_t i = 0; i < number; ++i) EXPECT_EQ(actual[i], expected[i]);
    }
  }
}

}  // namespace
}  // namespace skyline::search
