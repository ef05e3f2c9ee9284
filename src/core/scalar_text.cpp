#include "skyline/core/scalar_text.hpp"

#include <charconv>
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

}  // namespace

std::optional<std::int64_t> integer_in(std::string_view text) {
  return parsed<std::int64_t>(text);
}

std::optional<double> number_in(std::string_view text) {
  if (text == ".inf" || text == "+.inf") return std::numeric_limits<double>::infinity();
  if (text == "-.inf") return -std::numeric_limits<double>::infinity();
  // from_chars would also take the words inf and nan, which YAML reads as text.
  if (text.find_first_not_of("+-.0123456789eE") != std::string_view::npos) return std::nullopt;
  return parsed<double>(text);
}

std::optional<bool> flag_in(std::string_view text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return std::nullopt;
}

}  // namespace skyline
