#pragma once

#include "app/config/run_config.hpp"

namespace skyline::app {

/// Refuses what a run must not begin with, though one that has begun goes on with it: metrics whose columns
/// in search_state.csv would have the names of others, and objectives that lead to the worse end of a metric.
/// @param root  the configuration as it was written, for the place of the mistake
/// @throws UserError
void check_new_run(const ConfigNode& root, const RunConfig& config);

}  // namespace skyline::app
