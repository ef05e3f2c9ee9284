#pragma once

#include "skyline/core/error.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

namespace skyline::store {

/// Numbers as the journal writes them: JSON has no infinities and no NaN, which are texts.
nlohmann::ordered_json encode_number(double value);
/// Values of a line. All throw UserError, which names the member, for one that is missing or of another kind.
/// @param name  of the value, for messages; of the member where an object is given
double decode_number(const nlohmann::ordered_json& value, const char* name);
const nlohmann::ordered_json& member(const nlohmann::ordered_json& object, const char* name);
const std::string& decode_text(const nlohmann::ordered_json& object, const char* name);
/// A whole number that is written as text, because readers in other languages would round large ones.
std::uint64_t decode_large(const nlohmann::ordered_json& object, const char* name);
[[noreturn]] void fail_expected(const char* name, const char* expected, const nlohmann::ordered_json& found);

template <typename Integer>
Integer decode_integer(const nlohmann::ordered_json& value, const char* name) {
  const bool fits =
      value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<Integer>::max();
  if (!fits) fail_expected(name, "a whole number", value);
  return static_cast<Integer>(value.get<std::uint64_t>());
}

}  // namespace skyline::store
