#pragma once

#include "app/config/run_config.hpp"

namespace skyline::app {

/// Refuses metrics whose columns in search_state.csv would have the names of others.
/// @param root  the configuration as it was written, for the place of the mistake
/// @throws UserError
void check_metric_columns(const ConfigNode& root, const RunConfig& config);

}  // namespace skyline::app
