#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace skyline {

/// What an unquoted scalar reads as; nothing if it is not of that type. Whole text, no surrounding blanks.
std::optional<std::int64_t> integer_in(std::string_view text);
/// Finite, or `.inf` and `-.inf` as YAML writes them.
std::optional<double> number_in(std::string_view text);
std::optional<bool> flag_in(std::string_view text);
/// Seconds: a number alone, or numbers with units (s, m or min, h, d), the largest unit first: `90`, `15
/// min`, `1h30m`. At least 0, finite.
std::optional<double> duration_in(std::string_view text);

}  // namespace skyline
