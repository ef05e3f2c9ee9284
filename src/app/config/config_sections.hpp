#pragma once

#include <array>
#include <string_view>

namespace skyline::app {

/// The sections that a configuration may have besides that of an evaluator.
inline constexpr std::array<std::string_view, 9> kConfigSections{
    "data", "space", "training", "objectives", "constraints", "search", "final", "run", "checkpoint"};

}  // namespace skyline::app
