#pragma once

#include <cstddef>
#include <string>

namespace skyline::search {

/// "1 trial", "2 trials".
inline std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// The finish reason of a search that proposed every valid architecture of its space.
inline std::string all_evaluated_text(std::size_t architectures) {
  if (architectures == 1) return "the only valid architecture was evaluated";
  return "all " + counted(architectures, "valid architecture") + " were evaluated";
}

}  // namespace skyline::search
