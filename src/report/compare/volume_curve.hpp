#pragma once

#include "run/run_state.hpp"

#include <vector>

namespace skyline::report {

/// Hypervolume of the front of the search after each search trial, in the order of commits; never falls. With
/// more than two objectives it is measured at some hundred trials only, and stays the same between them.
/// @return  empty if the objectives have no volume
std::vector<double> volume_curve(const run::RunState& state);

}  // namespace skyline::report
