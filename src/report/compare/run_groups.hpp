#pragma once

#include "report/compare/comparison.hpp"

#include <vector>

namespace skyline::report {

/// Puts runs together whose identities are equal but for the seed, and names the groups by the settings that
/// tell them apart, as few as possible.
/// @throws UserError if two runs of a group have one seed
std::vector<RunGroup> group_runs(const std::vector<ComparedRun>& runs);

}  // namespace skyline::report
