#pragma once

#include "core/system/process.hpp"

#include <string>

namespace skyline {

/// Returns the path with a `~` at its start replaced by the home folder. A shell does that only where `~`
/// begins a word, not in `--run=~/a` or in a file. @throws UserError for `~name`, or if HOME is not set
std::string expand_home(const std::string& path, const VariableLookup& variable = process_variable);

}  // namespace skyline
