#include "skyline/core/error.hpp"
#include "skyline/space/search_space.hpp"

#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "space/expressions/expression.hpp"
#include "space/expressions/expression_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <vector>

namespace skyline::space {
namespace {

std::string number_text(double number) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  std::string text(buffer.data(), result.ptr);
  // Otherwise it would read back as an integer.
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

bool is_whole(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Returns whether a number is a fraction that went through 32 bits.
bool is_near(const Value& value, double number) {
  constexpr double kFloatRounding = 0x1p-24;
  const auto* fraction = std::get_if<double>(&value);
  return fraction != nullptr && std::isfinite(*fraction) &&
         std::abs(number - *fraction) <= kFloatRounding * std::abs(*fraction);
}

/// Reads a height and a width.
Sides read_sides(const ConfigNode& list) {
  if (list.items().size() != 2) list.fail_expected("a single value or [height, width]");
  Sides sides{};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const ConfigNode& side = list.items()[i];
    const auto read =
        side.is_scalar() && !side.quoted() ? parse_integer(side.as_text()) : std::optional<std::int64_t>();
    if (!read) side.fail_expected("a whole number");
    sides[i] = *read;
  }
  return sides;
}

/// Returns whether a text in small letters means a value that is no number.
bool means(const Value& value, const std::string& word) {
  if (const auto* sides = std::get_if<Sides>(&value)) return parse_sides(word) == *sides;
  if (std::holds_alternative<Null>(value))
    return word.empty() || word == "nan" || word == "none" || word == "null";
  return std::holds_alternative<bool>(value) && word == to_text(value);
}

}  // namespace

std::string to_text(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* sides = std::get_if<Sides>(&value)) {
    return '[' + std::to_string((*sides)[0]) + ", " + std::to_string((*sides)[1]) + ']';
  }
  return std::holds_alternative<Null>(value) ? "null" : std::get<std::string>(value);
}

std::optional<Sides> parse_sides(std::string_view text) {
  std::string dense;
  std::ranges::remove_copy_if(text, std::back_inserter(dense), is_blank);
  const std::size_t comma = dense.find(',');
  if (!dense.starts_with('[') || !dense.ends_with(']') || comma == std::string::npos) return std::nullopt;
  const auto height = parse_integer(dense.substr(1, comma - 1));
  const auto width = parse_integer(dense.substr(comma + 1, dense.size() - comma - 2));
  return height && width ? std::optional(Sides{*height, *width}) : std::nullopt;
}

Value as_value(const Sides& sides) {
  return sides[0] == sides[1] ? Value(sides[0]) : Value(sides);
}

Value read_value(const ConfigNode& node) {
  if (node.is_list()) return read_sides(node);
  if (!node.is_scalar()) node.fail_expected("a single value");
  const std::string& text = node.as_text();
  if (node.quoted()) return text;
  if (const auto integer = parse_integer(text)) return *integer;
  if (is_whole(text)) {
    node.fail(shortened(text) +
              " has more than 64 bits: write a fraction, as in 1.0e+19, or a text in quotes");
  }
  if (const auto number = parse_number(text)) return *number;
  if (const auto flag = parse_bool(text)) return *flag;
  return text;
}

double as_number(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1.0 : 0.0;
  throw UserError("expected a number, got " + to_text(value));
}

std::optional<std::uint32_t> choice_of(const Parameter& parameter, const std::string& text,
                                       std::optional<double> number) {
  constexpr double kExact = 0x1p53;  // larger whole numbers may be equal as doubles
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  const std::string word = lower_case(text.substr(first, text.find_last_not_of(" \t") + 1 - first));
  std::optional<std::uint32_t> meant;
  std::vector<std::uint32_t> near;
  for (std::uint32_t i = 0; i < parameter.values.size(); ++i) {
    const Value& value = parameter.values[i];
    const bool are_numbers = number && (is_number(value) || std::holds_alternative<bool>(value));
    if (are_numbers && as_number(value) != *number) {
      if (is_near(value, *number)) near.push_back(i);
      continue;
    }
    if (text == to_text(value)) return i;
    const bool is_equal = are_numbers ? std::abs(*number) < kExact || std::holds_alternative<double>(value)
                                      : means(value, word);
    if (is_equal && !meant) meant = i;
  }
  return meant || near.size() != 1 ? meant : near.front();
}

std::string to_text(ArchId id) {
  return to_hex(static_cast<std::uint64_t>(id));
}

}  // namespace skyline::space
