#pragma once

#include "skyline/search/algorithm.hpp"
#include "skyline/search/candidate_pool.hpp"

#include <vector>

namespace skyline::search {

/// Returns the architectures of known results, each once, the best ones first: the first front of each
/// source, then the second ones, and so on, and of a front those with the farthest neighbours first. Results
/// that failed, or that break a constraint, are left out.
std::vector<ArchitecturePointer> best_known(const SearchProblem& problem);

/// Returns the known results, or some of them, evenly spread over the list, if they are more than a model can
/// take.
std::vector<trial::CommittedTrial> some_known(const SearchProblem& problem);

}  // namespace skyline::search
