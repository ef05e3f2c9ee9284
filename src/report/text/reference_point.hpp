#pragma once

#include "skyline/objective/objective_set.hpp"

#include <span>
#include <vector>

namespace skyline::report {

/// Widens `worst`, the worst value of each objective so far in the user's senses (empty: none), by a trial's
/// values.
void keep_worst(std::span<const objective::Objective> objectives, std::span<const double> values,
                std::vector<double>& worst);

/// The reference point for these worst values, as FrontVolume::reference.
std::vector<double> volume_reference(std::span<const objective::Objective> objectives,
                                     std::span<const double> worst);

/// @param minimized  points of the front, row-major [num_points x num_objectives], every column minimized
/// @param reference  in the user's senses
double dominated_volume(std::span<const objective::Objective> objectives, std::span<const double> minimized,
                        std::span<const double> reference);

}  // namespace skyline::report
