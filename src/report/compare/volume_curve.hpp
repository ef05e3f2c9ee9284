#pragma once

#include "run/run_state.hpp"

#include <cstddef>
#include <vector>

namespace skyline::report {

/// Hypervolume of the front of the search after each search trial, in the order of commits; never falls. With
/// more than two objectives it is measured at some hundred trials only, and stays the same between them.
/// @param also  number of trials after which it is measured, too
/// @return  empty if the objectives have no volume
std::vector<double> volume_curve(const run::RunState& state, std::size_t also = 0);

}  // namespace skyline::report
