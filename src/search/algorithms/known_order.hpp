#pragma once

#include "skyline/search/algorithm.hpp"
#include "skyline/search/candidate_pool.hpp"

#include <vector>

namespace skyline::search {

/// Returns the architectures of known results, the best ones first: front by front, and in each front those
/// with the farthest neighbours first. Results that failed, or that break a constraint, are left out.
std::vector<ArchitecturePointer> best_known(const SearchProblem& problem);

/// Returns the known results, or some of them, evenly spread over the list, if they are more than a model can
/// take.
std::vector<trial::CommittedTrial> some_known(const SearchProblem& problem);

}  // namespace skyline::search
