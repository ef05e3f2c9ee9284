#pragma once

#include "skyline/store/importer.hpp"

#include "store/arrays/source_array.hpp"
#include "store/import/array_options.hpp"

#include <vector>

namespace skyline::store {

/// Samples and targets of a part.
struct PartArrays {
  Part part;
  SourceArray x;
  SourceArray y;
};

/// Finds the arrays of each part in the files of the source, by name; those of the training set come first.
/// @throws UserError: an array is missing or there twice, two of them do not fit together
std::vector<PartArrays> find_parts(const ImportSource& source, const ArrayOptions& options);

/// Whether the samples of all parts are bytes: pixels.
bool are_pixels(const std::vector<PartArrays>& parts);

}  // namespace skyline::store
