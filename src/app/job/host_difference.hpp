#pragma once

#include "comm/environment.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace skyline::app {

/// Describes how hosts differ, "0.1.0 on h1; 0.2.0 on h2, h3", by rank; empty if all are equal. Local.
/// @param texts  text of each rank; an empty one does not count
/// @param hosts  host of each rank
std::string text_difference(std::span<const std::string> texts, std::span<const std::string> hosts);

/// Compares all ranks' texts and hosts with `compare`. Returns its text, the same on every rank, or nullopt
/// if it is empty. Collective.
using CompareTexts = std::function<std::string(std::span<const std::string>, std::span<const std::string>)>;
std::optional<std::string> host_difference(comm::Environment& environment, const std::string& text,
                                           const CompareTexts& compare = text_difference);

/// Checks that all ranks run one program: the same version, also of the MPI library, and the same build. If
/// not, returns which hosts run which, the same text on every rank: "0.1.0 on h1; 0.2.0 on h2, h3".
/// Collective.
std::optional<std::string> version_difference(comm::Environment& environment);

/// Describes the first part in which programs differ. Local.
/// @param programs  for each rank one line per part, the most informative first
/// @param hosts     host of each rank
std::string program_difference(std::span<const std::string> programs, std::span<const std::string> hosts);

}  // namespace skyline::app
