#pragma once

#include "core/system/process.hpp"

#include <string>

namespace skyline {

/// The path with a `~` at its start replaced by the home folder, as a shell does where it sees one alone, and
/// not in `--run=~/a` or in a file.
/// @throws UserError: `~name`, or HOME is not set
std::string expand_home(const std::string& path, const VariableLookup& variable = process_variable);

}  // namespace skyline
