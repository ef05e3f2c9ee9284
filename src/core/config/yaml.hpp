#pragma once

#include "skyline/core/config_node.hpp"

#include <string>

namespace skyline {

/// Reads YAML text. Duplicate keys are refused (yaml-cpp would keep the first silently).
/// @param file  the name that error messages give
/// @throws UserError with file and line for a text that is not YAML
ConfigNode load_yaml_text(const std::string& text, const std::string& file);

/// Applies one `--set key.path=value`; the value is YAML. Paths are assigned anew.
/// @throws UserError for a missing `=`, an empty key or a value that is not YAML
void apply_override(ConfigNode& root, const std::string& assignment);

/// Writes a tree as YAML text, the same for equal trees; it reads back to an equal tree.
std::string to_yaml(const ConfigNode& root);

}  // namespace skyline
