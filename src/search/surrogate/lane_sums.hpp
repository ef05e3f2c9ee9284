#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// The sums that a model spends its time on, for several columns at a time. A sum is made by the same
/// operations in the same order on every processor, whatever other columns are computed along with it: they
/// are those of dot() in lanes.hpp. All arrays have whole lanes of finite numbers.
namespace skyline::search {

/// Rows of a lower triangular matrix: what is left of the diagonal, with zeros behind, and the diagonal.
struct TriangularRows {
  std::span<const std::vector<double>> left;
  std::span<const double> diagonal;
};

/// Computes the rows [begin, end) of the solutions of L x = b, in place, from the rows [0, begin), which are
/// there. Threads may share the matrix.
void solve_rows(const TriangularRows& matrix, std::span<double* const> columns, std::size_t begin,
                std::size_t end);

/// Writes dot(left, column, count) of each column.
void dots(const double* left, std::span<const double* const> columns, std::size_t count, double* products);
/// Writes dot(column, column, count) of each column, which is zero behind `count`.
void squares(std::span<const double* const> columns, std::size_t count, double* sums);

}  // namespace skyline::search
