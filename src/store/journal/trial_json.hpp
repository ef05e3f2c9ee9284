#pragma once

#include "skyline/core/error.hpp"
#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::store {

/// Makes an object with room for about this many members, so that adding them does not move it.
nlohmann::ordered_json make_object(std::size_t members);
/// Returns a number as the journal writes it: JSON has no infinities and no NaN, so those are texts.
nlohmann::ordered_json encode_number(double value);
/// Returns the value of a parameter or of a layer's attribute.
nlohmann::ordered_json encode_value(const space::Value& value);
/// These functions read values of a line. All throw UserError, which names the member, if it is missing or of
/// another type.
/// @param name  name of the value, for messages; name of the member if an object is given
double decode_number(const nlohmann::ordered_json& value, const char* name);
const nlohmann::ordered_json& member(const nlohmann::ordered_json& object, const char* name);
const std::string& decode_text(const nlohmann::ordered_json& object, const char* name);
/// Reads a whole number that is written as text, because readers in other languages would round large ones.
std::uint64_t decode_large(const nlohmann::ordered_json& object, const char* name);
[[noreturn]] void fail_expected(const char* name, const char* expected, const nlohmann::ordered_json& found);

template <typename Integer>
Integer decode_integer(const nlohmann::ordered_json& value, const char* name) {
  const bool fits =
      value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<Integer>::max();
  if (!fits) fail_expected(name, "a whole number", value);
  return static_cast<Integer>(value.get<std::uint64_t>());
}

/// Adds which of a trial's full trainings it is: `refit`, or the number of a repeat; the first one adds
/// nothing.
void add_final_repeat(nlohmann::ordered_json& object, std::uint32_t repeat);
/// Reads Proposal::final_repeat. @throws UserError
std::uint32_t read_final_repeat(const nlohmann::ordered_json& object);

/// Adds a trial's number, phase, number of the repeat of a full training (unless 0) and architecture to an
/// object.
void add_name(nlohmann::ordered_json& object, const trial::Trial& trial);
/// Adds the fields of a trial (trial::for_each_field) to an object. Numbers above 32 bits become text; a
/// start becomes `inherits` or `continues`, a fresh one is left out.
void add_fields(nlohmann::ordered_json& object, const trial::Trial& trial);

/// Returns the architecture of an earlier search trial, or nullptr if there is no such trial.
using ArchitectureOf = std::function<std::shared_ptr<const space::Architecture>(trial::TrialNumber number)>;

/// Reads the fields of a trial. @pre trial.number is known.
/// @throws UserError if a field is missing or wrong, or names a trial that is not an earlier one
void read_fields(const nlohmann::ordered_json& object, const ArchitectureOf& earlier, trial::Trial& trial);

/// Returns values by the names of their metrics; those that are NaN are left out.
nlohmann::ordered_json encode_measured(const std::vector<double>& values,
                                       const std::vector<trial::Metric>& metrics);
/// Reads the member `metrics` of an object. Returns the values in the order of the metrics, NaN for those
/// that it lacks. @throws UserError
std::vector<double> decode_measured(const nlohmann::ordered_json& object,
                                    const std::vector<trial::Metric>& metrics);
/// Returns the values after declared steps as a list of objects with `step` and `metrics`.
nlohmann::ordered_json encode_steps(const std::vector<trial::StepValues>& steps,
                                    const std::vector<trial::Metric>& metrics);
/// Reads such a list. @throws UserError if it is longer than trial::kMostDeclaredSteps, or does not ascend
std::vector<trial::StepValues> decode_steps(const nlohmann::ordered_json& list,
                                            const std::vector<trial::Metric>& metrics);

nlohmann::ordered_json encode_timing(const trial::TrialTiming& timing);
/// Reads the times of a trial. @throws UserError
trial::TrialTiming decode_timing(const nlohmann::ordered_json& object);

/// The program and run that made a file. Every file that a later job or another program may read has it.
struct RunStamp {
  std::string skyline_version;
  std::string config_hash;  // JournalHeader::config_hash of the run
  bool operator==(const RunStamp&) const = default;
};
/// Returns the text that says from which training of which run a file comes: a JSON object of the stamp and
/// of the trial as in the journal, without genotype and result. Equal trainings have equal texts.
std::string provenance(const trial::Trial& trial, const RunStamp& run);
/// Returns the text for a kept state. It is the same for search trial `number`, which left the state, and for
/// the trials that continue it, whatever their budgets.
std::string kept_provenance(trial::TrialNumber number, const trial::Trial& trial, const RunStamp& run);

}  // namespace skyline::store
