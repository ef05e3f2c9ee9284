#pragma once

#include "comm/environment.hpp"

#include <optional>
#include <span>
#include <string>

namespace skyline::app {

/// Collective: checks that all ranks run one program. If not, says which hosts run which, the same text on
/// every rank: "0.1.0 on h1; 0.2.0 on h2, h3". One program means the same version, also of the libraries that
/// results depend on ("LibTorch 2.11.0 on h1; ..."), and the same build.
std::optional<std::string> version_difference(comm::Environment& environment);

/// The first part in which programs differ. Local.
/// @param programs  of each rank: one line per part, the most informative first @param hosts  of each rank
std::string program_difference(std::span<const std::string> programs, std::span<const std::string> hosts);

/// The linker's id of this program's build, 16 hex digits, which differs for other sources, compilers or
/// options. "unknown" if there is none.
std::string build_id();

}  // namespace skyline::app
