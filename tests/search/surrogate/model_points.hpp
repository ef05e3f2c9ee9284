#pragma once

#include "skyline/core/random.hpp"

#include "search/surrogate/points.hpp"

#include <limits>
#include <vector>

namespace skyline::search::testing {

/// Five parameters, of which the second and the fourth are categorical.
inline std::vector<bool> mixed_parameters() {
  return {true, false, true, false, true};
}

/// Points with the parameters of mixed_parameters(), some of them not used, and with features in [-2, 2).
inline Points random_points(RandomStream& random, Eigen::Index count, Eigen::Index features) {
  Points points{Eigen::MatrixXd(5, count), Eigen::MatrixXd(features, count)};
  for (Eigen::Index point = 0; point < count; ++point) {
    for (Eigen::Index row = 0; row < 5; ++row) {
      const auto value = static_cast<double>(random.below(row % 2 == 0 ? 4 : 3));
      const double place = row % 2 == 0 ? value / 3 : value;
      points.parameters(row, point) =
          random.uniform() < 0.2 ? std::numeric_limits<double>::quiet_NaN() : place;
    }
    for (Eigen::Index row = 0; row < features; ++row) points.features(row, point) = 4 * random.uniform() - 2;
  }
  return points;
}

/// Returns the points [begin, begin + count).
inline Points part_of(const Points& points, Eigen::Index begin, Eigen::Index count) {
  return {points.parameters.middleCols(begin, count), points.features.middleCols(begin, count)};
}

}  // namespace skyline::search::testing
