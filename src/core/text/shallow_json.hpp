#pragma once

#include <string_view>

namespace skyline {

/// Every JSON text that others may have written goes through here before it is parsed: the library's
/// functions call themselves for each level, and 3 MB of `[` overflow the stack.
/// @return  the text, or an empty one, which no parser takes, if it nests more than 100 levels deep
std::string_view shallow_json(std::string_view text);

}  // namespace skyline
