#pragma once

#include <Eigen/Core>

namespace skyline::search {

/// Sums of a model go by lanes of four numbers in a fixed order. Eigen's own sums depend on where an array
/// lies in memory and on the shape of a product, so the same number would come out with other last bits.
constexpr Eigen::Index kLane = 4;
using Lane = Eigen::Array<double, kLane, 1>;
using ConstLane = Eigen::Map<const Lane>;

/// Returns the count rounded up to whole lanes.
constexpr Eigen::Index whole_lanes(Eigen::Index count) {
  return (count + kLane - 1) / kLane * kLane;
}

/// Returns the exponential and the logarithm of a number with the same bits on every processor, which the C
/// library's do not have.
inline double exp_of(double value) {
  const Lane lane = Lane::Constant(value).exp();
  return lane[0];
}
inline double log_of(double value) {
  const Lane lane = Lane::Constant(value).log();
  return lane[0];
}

/// Returns the inner product of the first `count` numbers. Both arrays have whole lanes; beyond `count` one
/// of them is zero and the other is finite.
inline double dot(const double* left, const double* right, Eigen::Index count) {
  Lane sum = Lane::Zero();
  for (Eigen::Index first = 0; first < count; first += kLane)
    sum += ConstLane(left + first) * ConstLane(right + first);
  return sum.sum();
}

}  // namespace skyline::search
