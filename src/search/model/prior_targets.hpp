#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <vector>

#include <Eigen/Core>

namespace skyline::search {

/// What known results let expect of their architectures.
struct PriorTargets {
  // Index of the result with the largest budget, for each architecture of a source.
  std::vector<std::size_t> places;
  Eigen::VectorXd targets;  // more is better
};

/// Returns the targets of a measured objective. The values of each source are standardised, and those of its
/// budgets related to each other as RungTargets says.
/// @param known  as in SearchProblem
PriorTargets prior_targets(const std::vector<trial::CommittedTrial>& known,
                           const objective::Objective& objective);

}  // namespace skyline::search
