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

/// The targets of one array of a part.
struct ArrayTargets {
  std::variant<std::vector<std::int32_t>, std::vector<std::uint8_t>, std::vector<float>> values;
  std::size_t each = 1;  // of a sample

  std::size_t count() const;
  /// Those of some samples.
  ArrayTargets of(std::span<const std::size_t> samples) const;
  /// Class labels; one label for all where the targets are no classes.
  std::vector<std::int32_t> labels() const;
};

struct TargetSet {
  std::vector<std::string> names;     // of the outputs
  std::vector<ArrayTargets> targets;  // of each array
};

/// Reads arrays of targets. Whole numbers, [N], and words are classes: the different ones of the first array,
/// in order; whole numbers, [N, K], are labels that apply or not; floats are numbers.
/// @param kind  what they are, if somebody says it; classes may then be [N, K] with a single 1 per row
/// @throws UserError naming array and expectation
TargetSet read_targets(std::span<const SourceArray> arrays, std::optional<TargetKind> kind);

}  // namespace skyline::store
