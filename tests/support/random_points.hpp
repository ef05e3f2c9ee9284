#pragma once

#include "skyline/core/random.hpp"

#include <cstddef>
#include <vector>

namespace skyline::testing {

/// Row-major points with whole coordinates in [0, largest]: many ties and duplicates where `largest` is
/// small.
inline std::vector<double> whole_points(RandomStream& random, std::size_t count, std::size_t columns,
                                        std::uint64_t largest) {
  std::vector<double> values(count * columns);
  for (double& value : values) value = static_cast<double>(random.below(largest + 1));
  return values;
}

/// Row-major points in [0, 1), near the plane where all columns sum to columns / 2: a large front.
inline std::vector<double> trade_off_points(RandomStream& random, std::size_t count, std::size_t columns) {
  std::vector<double> values;
  for (std::size_t point = 0; point < count; ++point) {
    std::vector<double> row(columns);
    double sum = 0;
    for (double& value : row) sum += value = random.uniform();
    const double shift = (static_cast<double>(columns) / 2 - sum) / static_cast<double>(columns);
    for (const double value : row) values.push_back(value + shift + 0.05 * random.uniform());
  }
  return values;
}

}  // namespace skyline::testing
