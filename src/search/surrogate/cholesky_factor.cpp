#include "search/surrogate/cholesky_factor.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/lanes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace skyline::search {

namespace {

constexpr std::size_t kTogether = 4;  // right sides that share what is read of the factor
constexpr Eigen::Index kPanel = 64;   // rows of the factor that stay in the cache for all right sides

}  // namespace

template <std::size_t kColumns>
void CholeskyFactor::solve_rows(double* const* columns, Eigen::Index begin, Eigen::Index end) const {
  for (Eigen::Index solved = begin; solved < end; ++solved) {
    const double* const factors = row(solved);
    std::array<Lane, kColumns> sums;
    sums.fill(Lane::Zero());
    for (Eigen::Index first = 0; first < solved; first += kLane) {
      const Lane lane = ConstLane(factors + first);
      for (std::size_t column = 0; column < kColumns; ++column)
        sums[column] += lane * ConstLane(columns[column] + first);
    }
    for (std::size_t column = 0; column < kColumns; ++column) {
      double& value = columns[column][solved];
      value = (value - sums[column].sum()) / diagonal_[static_cast<std::size_t>(solved)];
    }
  }
}

void CholeskyFactor::solve(std::span<double* const> columns, Eigen::Index from) const {
  for (Eigen::Index begin = from; begin < size(); begin += kPanel) {
    const Eigen::Index end = std::min(size(), begin + kPanel);
    std::size_t first = 0;
    for (; first + kTogether <= columns.size(); first += kTogether) {
      solve_rows<kTogether>(columns.data() + first, begin, end);
    }
    for (; first < columns.size(); ++first) solve_rows<1>(columns.data() + first, begin, end);
  }
}

void CholeskyFactor::append(std::span<double* const> columns) {
  const Eigen::Index solved = size();
  solve(columns, 0);
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
