#pragma once

#include "skyline/core/config_node.hpp"

#include <array>
#include <filesystem>
#include <string>

namespace skyline::store {

/// Returns where a file that a configuration names may be: beside the configuration, or else as it is given,
/// in the folder in which the program starts.
/// @param node  the key that names it
std::array<std::filesystem::path, 2> places_of_file(const ConfigNode& node, const std::string& given);

/// Returns the first of these places where there is something, or else the last one.
std::string named_file(const ConfigNode& node, const std::string& given);

/// Returns the first of these places where there is something.
/// @param advice  follows the message if there is none
/// @throws UserError at the node if there is none
std::string named_file_that_exists(const ConfigNode& node, const std::string& given,
                                   const std::string& advice = "");

}  // namespace skyline::store
