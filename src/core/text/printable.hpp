#pragma once

#include <string>
#include <string_view>

namespace skyline {

/// Text as it may be shown on a terminal: control characters, and bytes that are not UTF-8, as \xNN. Else
/// text of a file, a server or a command line could move the cursor or change what other lines say.
/// @param kept  control characters that are left, e.g. "\n" in a text of several lines
std::string printable(std::string_view text, std::string_view kept = {});

}  // namespace skyline
