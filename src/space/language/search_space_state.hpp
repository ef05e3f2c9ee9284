#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/search_space.hpp"

#include "space/language/network_template.hpp"

#include <vector>

namespace skyline::space {

/// The parts of a parsed space.
struct SearchSpace::State {
  std::vector<Parameter> parameters;
  DataShape data;
  ConfigNode network_source;
  NetworkItems network;
};

}  // namespace skyline::space
