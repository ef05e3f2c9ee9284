#pragma once

#include "skyline/core/config_node.hpp"

#include <string>

namespace skyline::app {

/// SHA-256 of what determines a run's trials: the resolved tree without the data file's place (its checksum
/// counts), without what only bounds the run (so that a finished one can be extended) and without what is
/// only kept or not kept. The tables of options say which keys those are.
std::string identity_hash(const ConfigNode& resolved);

/// Dotted path of the first setting in which two resolved configurations would give different runs; empty if
/// none.
std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right);

}  // namespace skyline::app
