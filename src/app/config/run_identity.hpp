#pragma once

#include "skyline/core/config_node.hpp"

#include <string>

namespace skyline::app {

/// The part of a resolved configuration that makes its run: without keys that may change. Equal trees for
/// equal runs. Of an algorithm or evaluator that this program does not have, all keys.
ConfigNode identity_of(const ConfigNode& resolved);

/// Dotted path of the first setting in which two resolved configurations would give different runs; empty if
/// none.
std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right);

}  // namespace skyline::app
