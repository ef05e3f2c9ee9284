#pragma once

#include "skyline/store/dataset.hpp"

#include "store/arrays/source_array.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace skyline::store {

struct ArrayTargets {
  std::variant<std::vector<std::int32_t>, std::vector<std::uint8_t>, std::vector<float>> values;
  std::size_t each = 1;  // number per sample

  std::size_t count() const;
  /// Returns the targets of some samples.
  ArrayTargets of(std::span<const std::size_t> samples) const;
  /// Returns class labels, or one common label if the targets are not classes.
  std::vector<std::int32_t> labels() const;
};

struct TargetSet {
  std::vector<std::string> names;       // names of the outputs
  std::vector<ArrayTargets> targets;    // targets of each array
  std::vector<std::string> notes = {};  // what else the targets may be
};

/// Reads arrays of targets. Whole numbers, [N], and words are classes: the different values of the first
/// array, in order. Whole numbers, [N, K], are labels that apply or not. Floats are numbers.
/// @param kind   the kind if the user has stated it; classes may then be [N, K] with a single 1 per row
/// @param names  names of the outputs in their order: whole numbers are then indices of classes. If empty,
/// words
///               are named by themselves, and other outputs by their numbers or columns
/// @throws UserError with the array and what was expected
TargetSet read_targets(std::span<const SourceArray> arrays, std::optional<TargetKind> kind,
                       const std::vector<std::string>& names = {});
/// Returns the names in an array of words or whole numbers. @throws UserError
std::vector<std::string> read_names(const SourceArray& array);

}  // namespace skyline::store
