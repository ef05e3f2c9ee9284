#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace skyline::store {

/// The bytes of a file to be, in order, in pieces that stand anywhere in memory.
using FilePieces = std::vector<std::span<const std::byte>>;

}  // namespace skyline::store
