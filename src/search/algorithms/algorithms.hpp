#pragma once

#include "skyline/search/algorithm.hpp"

namespace skyline::search {

/// Upper bound of the counts in their options.
inline constexpr double kMostCounted = 1'000'000;

// The algorithms that ship, each in the file of its name.
Algorithm evolution_pareto();
Algorithm exhaustive_search();
Algorithm random_search();

}  // namespace skyline::search
