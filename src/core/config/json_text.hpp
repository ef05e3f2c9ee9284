#pragma once

#include "skyline/core/config_node.hpp"

#include <string>

namespace skyline {

/// The tree as JSON, indented. A scalar that is not quoted and reads as a number or a flag is one in JSON
/// too.
std::string to_json(const ConfigNode& node);

}  // namespace skyline
