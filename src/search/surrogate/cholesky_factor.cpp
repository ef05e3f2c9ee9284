#include "search/surrogate/cholesky_factor.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/lane_sums.hpp"
#include "search/surrogate/lanes.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::search {

namespace {

constexpr std::size_t kPanel = 64;  // rows of the factor that stay in the cache for all right sides

}  // namespace

void CholeskyFactor::solve(std::span<double* const> columns, Eigen::Index from) const {
  const auto rows = static_cast<std::size_t>(size());
  for (auto begin = static_cast<std::size_t>(from); begin < rows; begin += kPanel)
    solve_rows({rows_, diagonal_}, columns, begin, std::min(rows, begin + kPanel));
}

void CholeskyFactor::append(std::span<double* const> columns, Eigen::Index from) {
  const Eigen::Index solved = size();
  solve(columns, from);
  for (double* const column : columns) {
    solve({&column, 1}, solved);
    const Eigen::Index length = size();
    const double diagonal = column[length];
    std::fill(column + length, column + whole_lanes(length), 0.0);
    const double squared = diagonal - dot(column, column, length);
    require(squared > 0, "a matrix of a model is not positive definite");
    rows_.emplace_back(column, column + whole_lanes(length));
    diagonal_.push_back(std::sqrt(squared));
  }
}

void CholeskyFactor::truncate(Eigen::Index size) {
  if (size >= this->size()) return;
  const auto kept = static_cast<std::size_t>(size);
  rows_.resize(kept);
  diagonal_.resize(kept);
}

Eigen::VectorXd CholeskyFactor::solve_transposed(Eigen::VectorXd right_side) const {
  for (Eigen::Index last = right_side.size() - 1; last >= 0; --last) {
    right_side[last] /= diagonal_[static_cast<std::size_t>(last)];
    right_side.head(last) -= right_side[last] * Eigen::Map<const Eigen::VectorXd>(row(last), last);
  }
  return right_side;
}

double CholeskyFactor::log_diagonal(Eigen::Index count) const {
  return Eigen::Map<const Eigen::ArrayXd>(diagonal_.data(), count).log().sum();
}

}  // namespace skyline::search
