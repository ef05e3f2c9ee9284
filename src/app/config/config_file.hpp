#pragma once

#include "skyline/core/config_node.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::app {

/// Reads a configuration with the settings of the command line (key=value). If its `space` is a file, that is
/// looked for beside the configuration and read. @throws UserError
ConfigNode load_config(const std::filesystem::path& path, const std::vector<std::string>& overrides);

}  // namespace skyline::app
