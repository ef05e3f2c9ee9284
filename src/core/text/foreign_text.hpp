#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skyline {

// Functions that make text of others harmless and short before it is shown or parsed.

/// Returns text that a terminal can show safely: control characters, marks of direction, and bytes that are
/// not UTF-8, become \xNN. Otherwise text of a file, a server or a command line could move the cursor or
/// change other lines.
/// @param kept  control characters that are left, e.g. "\n" in a text of several lines
std::string printable(std::string_view text, std::string_view kept = {});
/// Prints one printable line on standard error, "skyline: cannot read ...", by one call of the system where
/// it takes the line whole. What a launcher says at the same time then stands before or behind the line.
void say(std::string_view text);

/// Returns whether a byte of UTF-8 belongs to the character of the byte before it.
bool continues_character(char byte);
/// Returns the number of characters of a UTF-8 text: its columns on a terminal, but for wide characters.
std::size_t characters_in(std::string_view text);

/// Returns the beginning of a text on one line, so that the message around it stays readable.
/// @param most  limit in bytes, including the dots that replace the rest
std::string shortened(std::string_view text, std::size_t most = 60);
/// Returns a shortened word in the quotes that messages use: `word`.
std::string in_quotes(std::string_view word);

/// Returns a word as a shell reads it: as it is, or in quotes if it has other characters than those of plain
/// names and paths.
std::string in_shell(std::string_view word);

/// Protects the JSON parser from deep nesting. Every JSON text that others may have written must pass through
/// here: the library calls itself for each level, and 3 MB of `[` overflow the stack.
/// @return  the text, or an empty one, which no parser takes, if it nests more than 100 levels deep
std::string_view shallow_json(std::string_view text);

}  // namespace skyline
