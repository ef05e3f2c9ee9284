#include "skyline/trial/trial_group.hpp"

#include <algorithm>

namespace skyline::trial {

Part part_of(std::size_t values, std::size_t members, std::size_t member) {
  constexpr std::size_t kLine = 16;
  const std::size_t lines = (values + kLine - 1) / kLine;
  const auto line_of = [&](std::size_t m) { return std::min(values, lines * m / members * kLine); };
  return {line_of(member), line_of(member + 1)};
}

}  // namespace skyline::trial
