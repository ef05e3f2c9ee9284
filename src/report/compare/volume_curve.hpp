#pragma once

#include "run/run_state.hpp"

#include <cstddef>
#include <vector>

namespace skyline::report {

/// Returns the hypervolume of the search's front after each search trial, in the order of commits. It never
/// falls. With more than two objectives it is computed for some hundred trials, and is constant between them.
/// @param also  a further number of trials for which it is computed
/// @return  empty if the objectives have no volume
std::vector<double> volume_curve(const run::RunState& state, std::size_t also = 0);

}  // namespace skyline::report
