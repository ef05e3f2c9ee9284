#pragma once

#include "skyline/core/error.hpp"
#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

namespace skyline::store {

/// An object that will have about so many members, which then need not move.
nlohmann::ordered_json make_object(std::size_t members);
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

/// Adds number, phase and architecture of a trial to an object.
void add_name(nlohmann::ordered_json& object, const trial::Trial& trial);
/// Adds the fields of a trial (trial::for_each_field) to an object: numbers above 32 bits as text, a start as
/// `inherits` or `continues`, a fresh one not at all.
void add_fields(nlohmann::ordered_json& object, const trial::Trial& trial);

/// The architecture of an earlier search trial; nullptr for a trial that is not an earlier one.
using ArchitectureOf = std::function<std::shared_ptr<const space::Architecture>(trial::TrialNumber number)>;

/// Reads them back. @pre trial.number is known.
/// @throws UserError for one that is missing, wrong, or names a trial that is not an earlier one
void read_fields(const nlohmann::ordered_json& object, const ArchitectureOf& earlier, trial::Trial& trial);

nlohmann::ordered_json encode_timing(const trial::TrialTiming& timing);
/// @throws UserError
trial::TrialTiming decode_timing(const nlohmann::ordered_json& object);

}  // namespace skyline::store
