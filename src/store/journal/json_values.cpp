#include "store/journal/json_values.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

namespace skyline::store {

using Json = nlohmann::ordered_json;

Json encode_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

double decode_number(const Json& value, const char* name) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  fail_expected(name, "a number", value);
}

const Json& member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw UserError(std::string("missing member `") + name + "`");
  return *found;
}

const std::string& decode_text(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_string()) fail_expected(name, "text", value);
  return value.get_ref<const std::string&>();
}

std::uint64_t decode_large(const Json& object, const char* name) {
  const std::string& text = decode_text(object, name);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_expected(name, "a whole number as text", object[name]);
  }
  return value;
}

void fail_expected(const char* name, const char* expected, const Json& found) {
  throw UserError(std::string(name) + ": expected " + expected + ", got " + found.dump());
}

}  // namespace skyline::store
