#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace skyline {

/// Reads a whole unquoted scalar without surrounding blanks; nothing if it is not of the type.
std::optional<std::int64_t> integer_in(std::string_view text);
/// Reads a finite number, or YAML's `.inf` and `-.inf`.
std::optional<double> number_in(std::string_view text);
std::optional<bool> flag_in(std::string_view text);
/// Reads seconds: a number alone, or numbers with units (s, m or min, h, d), the largest unit first: `90`,
/// `15 min`, `1h30m`. At least 0, finite.
std::optional<double> duration_in(std::string_view text);

}  // namespace skyline
