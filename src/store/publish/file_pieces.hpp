#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace skyline::store {

/// The bytes of a future file, in order, in pieces anywhere in memory.
using FilePieces = std::vector<std::span<const std::byte>>;

}  // namespace skyline::store
