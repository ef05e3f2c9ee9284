#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::evaluate {

// The words with which a program failed, as part of a trial's reason.

/// Returns what a person would quote of a log: type and first line of the last exception, else the line of
/// the error, not the advice behind it; an empty text if the log says nothing.
/// @param lines  end of the log, from log_tail()
std::string error_words(const std::vector<std::string>& lines);

/// Texts that differ from host to host or from try to try, e.g. the path of a folder, each with the word that
/// stands for it.
using OwnNames = std::vector<std::pair<std::string, std::string>>;

/// Returns the words such that they are the same on every host and at every try: names, addresses, times,
/// temporary folders and the numbers of processes are replaced. A word of `names` is replaced as a whole, but
/// a number only where a line begins with it as that of a process: `[12]`, `python[12]:`, `12:`.
std::string without_places(std::string words, const OwnNames& names);

/// Returns ": " and the words of a log without places, for the end of a reason; empty if the log says
/// nothing.
std::string said_in(const std::filesystem::path& log, const OwnNames& names);

constexpr std::size_t kTailLines = 20;
constexpr std::size_t kLongestTailLine = 400;

/// Returns the last lines of a log for a message, without empty lines. Control characters are harmless, a
/// long line is shortened, and of a line that a progress bar has overwritten only the last state is there.
/// Returns no line if the file cannot be read or is something else than a file: the message does not depend
/// on it.
std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t most_lines = kTailLines,
                                  std::size_t longest_line = kLongestTailLine);

/// Warns of a failure, with the last lines of its log.
void warn_with_tail(const std::string& failure, const std::filesystem::path& log);

}  // namespace skyline::evaluate
