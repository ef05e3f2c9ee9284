#pragma once

#include "comm/environment.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace skyline::app {

/// Describes how hosts differ, "0.1.0 on h1; 0.2.0 on h2, h3", in the order of ranks; empty if all texts are
/// equal. Local. @param texts  of each rank; an empty one does not count @param hosts  of each rank
std::string text_difference(std::span<const std::string> texts, std::span<const std::string> hosts);

/// Collective: compares all ranks' texts and hosts by `compare`; returns its text, the same on every rank, or
/// nothing if it is empty.
using CompareTexts = std::function<std::string(std::span<const std::string>, std::span<const std::string>)>;
std::optional<std::string> host_difference(comm::Environment& environment, const std::string& text,
                                           const CompareTexts& compare = text_difference);

}  // namespace skyline::app
