#pragma once

#include "skyline/search/algorithm.hpp"
#include "skyline/search/candidate_pool.hpp"

#include <vector>

namespace skyline::search {

/// Returns the architectures of known results, each once, the best ones first: the first front of each
/// source, then the second ones, and so on. An architecture that a source has with several budgets counts by
/// the largest; of the fronts, that of larger budgets comes first, and of a front those with the farthest
/// neighbours. Results that break a constraint are left out.
std::vector<ArchitecturePointer> best_known(const SearchProblem& problem);

/// Returns the known results, or those of some architectures, evenly spread over the list, if sources have
/// more than a model can take.
std::vector<trial::CommittedTrial> some_known(const SearchProblem& problem);

}  // namespace skyline::search
