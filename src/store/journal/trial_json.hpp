#pragma once

#include "skyline/trial/trial.hpp"

#include <map>
#include <memory>

#include <nlohmann/json_fwd.hpp>

namespace skyline::store {

/// Adds number, phase and architecture of a trial to an object.
void add_name(nlohmann::ordered_json& object, const trial::Trial& trial);
/// Adds the fields of a trial (trial::for_each_field) to an object: numbers above 32 bits as text, a start as
/// `inherits` or `continues`, a fresh one not at all.
void add_fields(nlohmann::ordered_json& object, const trial::Trial& trial);

/// The architectures of earlier trials.
using Architectures = std::map<trial::TrialNumber, std::shared_ptr<const space::Architecture>>;

/// Reads them back. @pre trial.number is known
/// @throws UserError for one that is missing, wrong, or names a trial that is not an earlier one
void read_fields(const nlohmann::ordered_json& object, const Architectures& architectures,
                 trial::Trial& trial);

nlohmann::ordered_json encode_timing(const trial::TrialTiming& timing);
/// @throws UserError
trial::TrialTiming decode_timing(const nlohmann::ordered_json& object);

}  // namespace skyline::store
