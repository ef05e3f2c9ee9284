#pragma once

#include "skyline/search/algorithm.hpp"

namespace skyline::search {

/// Upper bound of counts in the options of algorithms.
inline constexpr double kMostCounted = 1'000'000;
inline constexpr double kMostChildren = 1000;  // at once: all are made before some are chosen

// The built-in algorithms, each in the file of its name.
Algorithm evolution_pareto();
Algorithm exhaustive_search();
Algorithm listed_search();
Algorithm local_search();
Algorithm mo_asha();
Algorithm mo_bananas();
Algorithm nsga2();
Algorithm program_search();
Algorithm random_search();
Algorithm regularized_evolution();
Algorithm skyline_search();
Algorithm successive_halving();

}  // namespace skyline::search
