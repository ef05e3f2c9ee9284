#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/objective/objective_set.hpp"

namespace skyline::objective {

/// Checks the ends that ObjectiveSet::complete_references has found, as ObjectiveSet::parse does those that
/// are stated: it would refuse the configuration of the run otherwise.
/// @param objectives  the list from which the set was read
/// @throws UserError with the place of an objective whose ends are too far apart
void check_derived_ends(const ConfigNode& objectives, const ObjectiveSet& set);

}  // namespace skyline::objective
