#pragma once

#include "report/compare/comparison.hpp"

#include <vector>

namespace skyline::report {

/// Groups runs whose identities differ only in the seed. The names of groups are the settings that tell them
/// apart, as few as possible. @throws UserError if two runs of a group have one seed
std::vector<RunGroup> group_runs(const std::vector<ComparedRun>& runs);

}  // namespace skyline::report
