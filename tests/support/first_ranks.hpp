#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace skyline::testing {

/// Returns the ranks 0 to count - 1.
inline std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace skyline::testing
