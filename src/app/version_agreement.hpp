#pragma once

#include "skyline/comm/environment.hpp"

#include <optional>
#include <string>

namespace skyline::app {

/// Collective: whether all ranks run one version of the program; if not, which hosts run which, the same text
/// on every rank: "0.1.0 on h1; 0.2.0 on h2, h3".
std::optional<std::string> version_difference(comm::Environment& environment);

}  // namespace skyline::app
