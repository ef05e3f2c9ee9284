#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace skyline::launcher {

/// Returns the start of a file of the system, at most so many bytes; an empty text if that fails.
std::string read_text(const std::string& path, std::size_t most);
/// Writes to a file of the system that is there. Returns false and sets errno if that fails.
bool write_text(const std::string& path, std::string_view text);
/// Returns the number in the line "NAME NUMBER" of a text, or 0 if there is none.
std::uint64_t count_in(const std::string& text, std::string_view name);

}  // namespace skyline::launcher
