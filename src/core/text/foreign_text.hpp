#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skyline {

// Text that others may have written, made harmless and short before it is shown or parsed.

/// Text as it may be shown on a terminal: control characters, and bytes that are not UTF-8, as \xNN. Else
/// text of a file, a server or a command line could move the cursor or change what other lines say.
/// @param kept  control characters that are left, e.g. "\n" in a text of several lines
std::string printable(std::string_view text, std::string_view kept = {});

/// The beginning of a text on one line, so that the message around it stays readable.
/// @param most  in bytes, with the dots that stand for the rest
std::string shortened(std::string_view text, std::size_t most = 60);
/// A shortened word between the quotes of messages: `word`.
std::string in_quotes(std::string_view word);

/// Every JSON text that others may have written goes through here before it is parsed: the library's
/// functions call themselves for each level, and 3 MB of `[` overflow the stack.
/// @return  the text, or an empty one, which no parser takes, if it nests more than 100 levels deep
std::string_view shallow_json(std::string_view text);

}  // namespace skyline
