#pragma once

#include "store/arrays/source_array.hpp"
#include "store/import/array_options.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace skyline::store {

/// The layout of samples in the array, and their shape in the data set.
struct SampleLayout {
  space::Shape shape;
  bool channels_last = false;
};

/// Returns the layout that the options state, else the one that gives the expected shape, else the one that
/// the number of dimensions suggests, unless it is ambiguous. @throws UserError
/// @param expected  shape of a sample, if it is known
SampleLayout sample_layout(const ArrayOptions& options, const SourceArray& x,
                           const std::optional<space::Shape>& expected);

/// Turns rows of an array into samples of a data set: bytes, or finite floats. @throws UserError
/// @param samples  their numbers, for messages
template <typename Value>
std::vector<Value> samples_of(const SourceArray& x, const SampleLayout& layout,
                              std::span<const std::byte> rows, std::span<const std::size_t> samples);

}  // namespace skyline::store
