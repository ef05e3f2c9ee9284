#pragma once

#include "store/import/array_parts.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace skyline::store {

/// The groups of a training set, whose samples stay in one part.
struct TrainingGroups {
  std::vector<std::int32_t> numbers;  // group of each sample, from 0 in the order of their first samples
  std::size_t count = 0;
};

/// Reads the groups of the training set and compares them with those of the other parts that have some.
/// @pre the training set has groups
/// @throws UserError for a missing or fractional entry, and for a group that is in two parts
TrainingGroups read_groups(const std::vector<PartArrays>& parts);

}  // namespace skyline::store
