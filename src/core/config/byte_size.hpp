#pragma once

#include "skyline/core/option_kind.hpp"

#include <cstdint>

namespace skyline {

/// Reads a number of bytes with a unit, of thousands (GB) or of 1024 (GiB), and writes it with a unit.
OptionKind<std::uint64_t> byte_size();

}  // namespace skyline
