#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/objective/objective_set.hpp"

#include <vector>

namespace skyline::objective {

/// Sets the reference and the ideal of an objective, as far as its item of the configuration, the constraints
/// and the description of its metric state them.
/// @throws UserError for a reference that is no worse than every value
void read_ends(const ConfigNode& item, const std::vector<Constraint>& constraints,
               const trial::Metric& metric, Objective& objective);

}  // namespace skyline::objective
