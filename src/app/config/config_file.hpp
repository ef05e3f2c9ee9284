#pragma once

#include "skyline/core/config_node.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::app {

/// Reads a configuration, with the settings of the command line (key=value) in place, and with its `space`
/// where that is a file, looked for beside the configuration.
/// @throws UserError
ConfigNode load_config(const std::filesystem::path& path, const std::vector<std::string>& overrides);

}  // namespace skyline::app
