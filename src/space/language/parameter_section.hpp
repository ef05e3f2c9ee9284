#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/search_space.hpp"

#include <vector>

namespace skyline::space {

/// Reads `parameters: {name: {choice: [...], weights: [...]}, name: {range: [first, last, step]}}`.
/// @throws UserError for an empty choice, a value given twice, a wrong range or weight
std::vector<Parameter> read_parameters(const ConfigNode& section);

}  // namespace skyline::space
