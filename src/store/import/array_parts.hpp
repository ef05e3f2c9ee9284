#pragma once

#include "skyline/store/importer.hpp"

#include "store/arrays/preparation.hpp"
#include "store/arrays/source_array.hpp"
#include "store/import/array_options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace skyline::store {

struct PartArrays {
  Part part;
  SourceArray x;
  SourceArray y;
  std::optional<SourceArray> class_names = {};  // of the first part, if a file has the array `class_names`
  std::optional<SourceArray> group = {};  // of each sample, if the user named groups and this part has them
  // Names of arrays of the first part that have a row for each sample and are not used.
  std::vector<std::string> left_over = {};
};

/// Finds the arrays of each part in the files of the source by name; the training set comes first.
/// @param trained  rows of a training table from which its preparation is learned; all if empty
/// @throws UserError if an array is missing or exists twice, or if two of them do not fit together
std::vector<PartArrays> find_parts(const ImportSource& source, const ArrayOptions& options,
                                   const std::vector<bool>& trained = {});

/// Returns the preparation of the run that will get the samples, if it has one.
std::optional<Preparation> known_preparation(const ImportSource& source);

/// Subtracts a number from columns of samples [N, F] that float32 would merge, as for tables. Arrays of
/// float32 and of small whole numbers stay as they are.
/// @param known  preparation of the run that will get the samples
/// @param trained  rows of the first array from which the numbers are learned; all if empty
/// @return  the preparation, if a column is centred
std::optional<Preparation> centre_columns(std::vector<PartArrays>& parts,
                                          const std::optional<Preparation>& known,
                                          const std::vector<bool>& trained, std::vector<std::string>& notes);

/// Tells of an array whose different numbers float32 merges.
void tell_merged(const SourceArray& x, std::vector<std::string>& notes);

/// Returns whether the samples of all parts are bytes, i.e. pixels.
bool are_pixels(const std::vector<PartArrays>& parts);

}  // namespace skyline::store
