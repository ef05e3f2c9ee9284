#pragma once

#include "skyline/core/config_node.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace skyline::search {

/// The options of `algorithm: listed`.
struct ListedOptions {
  static constexpr int kMostSeeds = 1000;

  std::vector<std::vector<std::uint32_t>> genotypes;
  std::size_t seeds = 1;  // number of repetitions of each
  std::string from;       // folder of the run that has the results; empty if they are trained here
  std::vector<std::uint64_t> numbers;  // numbers of the trials in that run

  /// Returns the complete `search` section.
  ConfigNode to_section() const;
};

}  // namespace skyline::search
