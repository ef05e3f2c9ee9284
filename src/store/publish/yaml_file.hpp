#pragma once

#include "skyline/core/config_node.hpp"

#include <filesystem>

namespace skyline::store {

/// Reads a YAML file, with the patience that storage is given.
/// @throws UserError with file and line for a file that is missing or not YAML
ConfigNode load_yaml_file(const std::filesystem::path& path);

}  // namespace skyline::store
