#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace skyline::evaluate {

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
