#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include "trial/commit_log.hpp"

#include <optional>
#include <vector>

namespace skyline::search {

/// Returns what a model of all results expects of the first measured objective of one of them, without noise:
/// of the best of many noisy results that is less than was measured. It builds some hundred networks and fits
/// to at most 300 results; local, deterministic.
/// @param results  search trials with one budget, one of each architecture
/// @param number   that of one of them, which succeeded
/// @return         nullopt if no objective is measured
std::optional<trial::Expected> expectation(const space::SearchSpace& space,
                                           const objective::ObjectiveSet& objectives,
                                           const std::vector<trial::SharedTrial>& results,
                                           trial::TrialNumber number);

}  // namespace skyline::search
