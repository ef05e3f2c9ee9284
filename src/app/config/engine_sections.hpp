#pragma once

#include "skyline/core/config_node.hpp"

#include "app/config/run_config.hpp"

namespace skyline::app {

/// Reads the sections `final`, `run` and `checkpoint`; all may be missing. The trainer has been read.
/// @throws UserError with file, line and key
void read_engine_sections(const ConfigNode& root, RunConfig& config);

/// Writes the same sections into `tree`, with all defaults.
void write_engine_sections(const RunConfig& config, ConfigNode& tree);

}  // namespace skyline::app
