// This file is compiled without contraction to fused multiply-adds.
#include "search/surrogate/lane_sums.hpp"

#include "core/multi_target.hpp"

#include <array>
#include <cstring>

namespace skyline::search {
namespace {

// NOLINTNEXTLINE: compiler vectors
typedef double Four __attribute__((vector_size(32)));

constexpr std::size_t kLane = 4;
constexpr std::size_t kSolved = 4;  // columns that share what is read of the matrix
constexpr std::size_t kSummed = 8;  // columns whose sums do not wait for each other

SKYLINE_INLINE Four load(const double* from) {
  Four lane;
  std::memcpy(&lane, from, sizeof(lane));
  return lane;
}

/// The sum of a lane, in the order of Eigen's.
SKYLINE_INLINE double sum_of(Four lane) {
  return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

/// Completes a row, whose sums over the columns of the matrix before `first`, whole lanes, are there.
template <std::size_t kColumns>
SKYLINE_INLINE void complete_row(const double* factors, double diagonal, std::size_t row, std::size_t first,
                                 double* const* columns, std::array<Four, kColumns>& sums) {
  for (; first < row; first += kLane) {
    const Four lane = load(factors + first);
    for (std::size_t column = 0; column < kColumns; ++column)
      sums[column] += lane * load(columns[column] + first);
  }
  for (std::size_t column = 0; column < kColumns; ++column) {
    double& value = columns[column][row];
    value = (value - sum_of(sums[column])) / diagonal;
  }
}

/// Two rows at a time share what is read of the columns.
template <std::size_t kColumns>
SKYLINE_INLINE void solve(const TriangularRows& matrix, double* const* columns, std::size_t begin,
                          std::size_t end) {
  std::size_t row = begin;
  for (; row + 1 < end; row += 2) {
    const double* const factors = matrix.left[row].data();
    const double* const next_factors = matrix.left[row + 1].data();
    std::array<Four, kColumns> sums{};
    std::array<Four, kColumns> next_sums{};
    const std::size_t common = row / kLane * kLane;
    for (std::size_t first = 0; first < common; first += kLane) {
      const Four lane = load(factors + first);
      const Four next_lane = load(next_factors + first);
      for (std::size_t column = 0; column < kColumns; ++column) {
        const Four solved = load(columns[column] + first);
        sums[column] += lane * solved;
        next_sums[column] += next_lane * solved;
      }
    }
    complete_row<kColumns>(factors, matrix.diagonal[row], row, common, columns, sums);
    complete_row<kColumns>(next_factors, matrix.diagonal[row + 1], row + 1, common, columns, next_sums);
  }
  if (row == end) return;
  std::array<Four, kColumns> sums{};
  complete_row<kColumns>(matrix.left[row].data(), matrix.diagonal[row], row, 0, columns, sums);
}

/// @param left  nullptr for the columns themselves
template <std::size_t kColumns>
SKYLINE_INLINE void multiply(const double* left, const double* const* columns, std::size_t count,
                             double* products) {
  std::array<Four, kColumns> sums{};
  for (std::size_t first = 0; first < count; first += kLane) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      const Four lane = load(columns[column] + first);
      sums[column] += (left == nullptr ? lane : load(left + first)) * lane;
    }
  }
  for (std::size_t column = 0; column < kColumns; ++column) products[column] = sum_of(sums[column]);
}

SKYLINE_INLINE void multiply_all(const double* left, std::span<const double* const> columns,
                                 std::size_t count, double* products) {
  std::size_t first = 0;
  for (; first + kSummed <= columns.size(); first += kSummed)
    multiply<kSummed>(left, columns.data() + first, count, products + first);
  for (; first < columns.size(); ++first) multiply<1>(left, columns.data() + first, count, products + first);
}

}  // namespace

SKYLINE_MULTI_TARGET void solve_rows(const TriangularRows& matrix, std::span<double* const> columns,
                                     std::size_t begin, std::size_t end) {
  std::size_t first = 0;
  for (; first + kSolved <= columns.size(); first += kSolved)
    solve<kSolved>(matrix, columns.data() + first, begin, end);
  if (first + 2 <= columns.size()) {
    solve<2>(matrix, columns.data() + first, begin, end);
    first += 2;
  }
  if (first < columns.size()) solve<1>(matrix, columns.data() + first, begin, end);
}

SKYLINE_MULTI_TARGET void dots(const double* left, std::span<const double* const> columns, std::size_t count,
                               double* products) {
  multiply_all(left, columns, count, products);
}

SKYLINE_MULTI_TARGET void squares(std::span<const double* const> columns, std::size_t count, double* sums) {
  multiply_all(nullptr, columns, count, sums);
}

}  // namespace skyline::search
