#include "skyline/core/error.hpp"
#include "skyline/space/genotype.hpp"

#include "core/config/config_text.hpp"
#include "core/text/hash.hpp"

#include <array>
#include <charconv>

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

}  // namespace

std::string to_text(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return std::get<std::string>(value);
}

Value read_value(const ConfigNode& scalar) {
  if (!scalar.is_scalar()) scalar.fail_expected("a single value");
  const std::string& text = scalar.as_text();
  if (scalar.quoted()) return text;
  if (const auto integer = integer_in(text)) return *integer;
  if (const auto number = number_in(text)) return *number;
  if (const auto flag = flag_in(text)) return *flag;
  return text;
}

double as_number(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1.0 : 0.0;
  throw UserError("expected a number, got " + std::get<std::string>(value));
}

std::string to_text(ArchId id) {
  return to_hex(static_cast<std::uint64_t>(id));
}

}  // namespace skyline::space
