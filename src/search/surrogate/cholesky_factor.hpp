#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace skyline::search {

/// The lower Cholesky factor of a positive definite matrix that grows by rows. Every number is made by the
/// same operations in the same order, however many rows or right sides are computed at once: a factor that
/// grew row by row is the same, bit for bit, as one made at once. Not thread-safe while it changes.
class CholeskyFactor {
 public:
  Eigen::Index size() const { return std::ssize(diagonal_); }

  /// Appends rows. Each of `columns` holds a new row of the matrix, up to and with its diagonal, in whole
  /// lanes, and is overwritten.
  /// @param from  so many rows are solved already, see solve()
  /// @throws InternalError if the matrix isn't positive definite
  void append(std::span<double* const> columns, Eigen::Index from = 0);
  /// Drops all rows from `size` on.
  void truncate(Eigen::Index size);

  /// Solves L x = b for each of `columns`, in place: the rows [0, from) hold x already, the rows [from,
  /// size()) hold b. Each has whole lanes of finite numbers.
  void solve(std::span<double* const> columns, Eigen::Index from) const;
  /// Returns the solution of L' x = b for the leading rows, as many as b has.
  Eigen::VectorXd solve_transposed(Eigen::VectorXd right_side) const;
  /// Returns the numbers of a row left of the diagonal, in whole lanes with zeros behind. Valid until the
  /// factor changes.
  const double* row(Eigen::Index row) const { return rows_[static_cast<std::size_t>(row)].data(); }
  /// Returns the sum of the logarithms of the first `count` numbers on the diagonal.
  double log_diagonal(Eigen::Index count) const;

 private:
  std::vector<std::vector<double>> rows_;  // left of the diagonal, each padded with zeros
  std::vector<double> diagonal_;
};

}  // namespace skyline::search
