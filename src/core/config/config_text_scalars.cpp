#include "core/config/config_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace skyline {
namespace {

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);  // from_chars takes no plus
  Number value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr std::array kTimeUnits{TimeUnit{"d", 86400}, TimeUnit{"h", 3600}, TimeUnit{"min", 60},
                                TimeUnit{"m", 60},    TimeUnit{"s", 1},    TimeUnit{"ms", 1e-3}};

/// Cuts the longest prefix of these characters, and the blanks after it, off the text.
std::string_view consume_while(std::string_view& text, std::string_view characters) {
  const std::size_t length = std::min(text.find_first_not_of(characters), text.size());
  const std::string_view consumed = text.substr(0, length);
  text.remove_prefix(length);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return consumed;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parsed<std::int64_t>(text);
}

std::optional<double> parse_number(std::string_view text) {
  if (text == ".inf" || text == "+.inf") return std::numeric_limits<double>::infinity();
  if (text == "-.inf") return -std::numeric_limits<double>::infinity();
  // from_chars would also take the words inf and nan, which YAML reads as text.
  if (text.find_first_not_of("+-.0123456789eE") != std::string_view::npos) return std::nullopt;
  return parsed<double>(text);
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return std::nullopt;
}

std::optional<double> parse_duration(std::string_view text) {
  if (parse_number(text) == 0) return 0;  // zero needs no unit
  double total = 0;
  double last_unit = std::numeric_limits<double>::infinity();
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto count = parsed<double>(consume_while(text, "0123456789.eE+-"));
    const std::string_view name = consume_while(text, "dhmins");
    const auto unit = std::ranges::find(kTimeUnits, name, &TimeUnit::name);
    if (!count || *count < 0 || unit == kTimeUnits.end() || unit->seconds >= last_unit) return std::nullopt;
    total += *count * unit->seconds;
    last_unit = unit->seconds;
  }
  return std::isfinite(total) ? std::optional(total) : std::nullopt;
}

}  // namespace skyline
