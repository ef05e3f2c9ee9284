#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/objective/objective_set.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace skyline::objective {

/// Keys of an objective's item besides its sense.
inline constexpr const char* kReference = "reference";
inline constexpr const char* kIdeal = "ideal";
inline constexpr const char* kScale = "scale";
/// The words of `scale`, in the order of Scale.
inline constexpr std::array<std::string_view, 2> kScales{"linear", "log"};

inline bool is_bytes(const trial::Metric& metric) {
  return metric.unit == "B";
}

/// Sets the scale, the reference and the ideal of an objective, as far as its item of the configuration, the
/// constraints and the description of its metric state them.
/// @throws UserError for a reference that is not worse than the ideal, for an ideal that no value can have,
///         for ends without a logarithm where the scale is logarithmic, and for ends too far apart
void read_ends(const ConfigNode& item, const std::vector<Constraint>& constraints,
               const trial::Metric& metric, Objective& objective);

/// Checks the ends that ObjectiveSet::complete_references has found, as ObjectiveSet::parse does those that
/// are stated: it would refuse the configuration of the run otherwise.
/// @param objectives  the list from which the set was read
/// @throws UserError with the place of an objective whose ends are too far apart
void check_derived_ends(const ConfigNode& objectives, const ObjectiveSet& set);

}  // namespace skyline::objective
