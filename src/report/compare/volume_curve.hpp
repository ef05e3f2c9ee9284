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
/// Returns the same between other ends. @param objectives  those of the run, each with both ends
std::vector<double> volume_curve_between(const run::RunState& state,
                                         const std::vector<objective::Objective>& objectives,
                                         std::size_t also = 0);

}  // namespace skyline::report
