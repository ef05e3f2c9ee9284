#pragma once

#include <cctype>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

// How messages write numbers and lists.

/// Returns "1 trial", "2 trials".
inline std::string counted(std::integral auto count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// Returns the text in small letters; only ASCII letters change.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

/// Returns "a, b, c".
inline std::string joined(const std::vector<std::string>& texts, std::string_view between = ", ") {
  std::string line;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) line += between;
    line += texts[i];
  }
  return line;
}

/// Returns "12 s", or below a second "250 ms".
inline std::string seconds_text(double seconds) {
  if (seconds < 1) return std::to_string(std::lround(1000 * seconds)) + " ms";
  return std::to_string(std::lround(seconds)) + " s";
}

}  // namespace skyline
