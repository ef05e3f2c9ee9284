#pragma once

#include "skyline/core/config_node.hpp"

#include <string>

namespace skyline::store {

/// Returns the path of a file that a configuration names: beside the configuration, or, where it is not
/// there, as it is given, in the folder in which the program starts.
/// @param node  the key that names it
std::string named_file(const ConfigNode& node, const std::string& given);

}  // namespace skyline::store
