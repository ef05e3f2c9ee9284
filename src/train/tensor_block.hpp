#pragma once

#include "skyline/objective/evaluator.hpp"
#include "skyline/space/network.hpp"

#include <vector>

namespace skyline::train {

/// Copies the common block of a parent's tensor into a child's. Axes as in space::tensor_axes. New indices
/// of the first axis (outputs) keep their values; within the other outputs all that is new becomes zero.
void copy_common_block(const objective::NamedTensor& from, const std::vector<space::Shape>& from_axes,
                       objective::NamedTensor& to, const std::vector<space::Shape>& to_axes);

/// The same for a tensor that the parent lacks, as if it were zero there.
void clear_common_outputs(const space::Shape& from_outputs, objective::NamedTensor& to,
                          const space::Shape& to_outputs);

}  // namespace skyline::train
