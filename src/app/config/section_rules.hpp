#pragma once

#include "skyline/core/config_node.hpp"

#include "app/config/run_config.hpp"

namespace skyline::app {

/// Returns a section of a configuration, or nullptr.
const ConfigNode* section_in(const ConfigNode& root, const char* name);

/// Sets keys that are not stated and follow from other sections: `run.window` of an algorithm that has one of
/// its own, and `training.int8`.
void set_implied_keys(ConfigNode& root);

/// Refuses sections that do not suit each other. @throws UserError at the key
/// @param config  its sections and its evaluator are read
void check_sections(const ConfigNode& root, const RunConfig& config);

/// Refuses counted costs where networks have their own, and metrics that are counted and measured.
/// @throws UserError at the key
void check_costs(const ConfigNode& root, const RunConfig& config, bool has_network);

}  // namespace skyline::app
