#pragma once

#include "skyline/space/search_space.hpp"

#include "support/cnn_space.hpp"
#include "support/yaml_config.hpp"

#include <string>

namespace skyline::space {

inline const DataShape kMnist{{1, 28, 28}, 10};

using skyline::testing::kCnnSpace;

inline SearchSpace space_from_yaml(const std::string& text, const DataShape& data = kMnist) {
  return SearchSpace::parse(skyline::testing::config_from_yaml(text, "a.yaml", "space"), data);
}

/// The network of a space without parameters, of which the list is given: `[a, b]`, or items from line 2 on.
inline Network network_from_yaml(const std::string& list, const DataShape& data = kMnist) {
  return space_from_yaml((list.starts_with('[') ? "network: " : "network:\n") + list, data)
      .build(Genotype{})
      .network();
}

}  // namespace skyline::space
