#pragma once

#include "skyline/objective/objective_set.hpp"

#include <span>
#include <vector>

namespace skyline::run {

/// A hypervolume, and the point that it is measured against.
struct FrontVolume {
  double volume = 0;
  std::vector<double>
      reference;  // [num_objectives], in the user's senses; empty if no search trial succeeded
};

/// What the volume of a front is measured from; a copy, for any thread.
struct FrontPoints {
  std::vector<double> minimized;  // row-major [members x num_objectives], every column minimized
  std::vector<double> worst;      // of each objective over all successful search trials, in the user's senses
};

/// Hypervolume of a front. The reference point is per objective: for a maximized one 0 (where a value is
/// negative: the smallest one that any successful search trial had, less a tenth of its size); for a
/// minimized one the largest value that any successful search trial had, plus a tenth of its size.
FrontVolume volume_of(std::span<const objective::Objective> objectives, const FrontPoints& points);

/// Widens `worst` (empty: none so far) by a trial's values, in the user's senses.
void keep_worst(std::span<const objective::Objective> objectives, std::span<const double> values,
                std::vector<double>& worst);

}  // namespace skyline::run
