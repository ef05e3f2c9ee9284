#pragma once

#include "skyline/core/option_kind.hpp"

#include <string>
#include <vector>

namespace skyline {

/// Reads a program and its arguments. They are kept as texts, even if they look like numbers.
OptionKind<std::vector<std::string>> argument_vector();

}  // namespace skyline
