#pragma once

#include "store/arrays/source_array.hpp"
#include "store/import/array_options.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace skyline::store {

/// How samples lie in the array, and what becomes of them.
struct SampleLayout {
  space::Shape shape;
  bool channels_last = false;
};

/// What the options say, or else the layout that gives the expected shape, or else what the number of
/// dimensions says, unless it may well be another layout.
/// @param expected  shape of a sample, if it is known
/// @throws UserError
SampleLayout sample_layout(const ArrayOptions& options, const SourceArray& x,
                           const std::optional<space::Shape>& expected);

/// Turns rows of an array into samples of a data set: bytes, or floats, which are checked to be finite.
/// @param samples  their numbers, for messages. @throws UserError
template <typename Value>
std::vector<Value> samples_of(const SourceArray& x, const SampleLayout& layout,
                              std::span<const std::byte> rows, std::span<const std::size_t> samples);

}  // namespace skyline::store
