#pragma once

#include "store/arrays/preparation.hpp"
#include "store/import/array_parts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace skyline::store {

/// Subtracts a number from columns of samples [N, F] that float32 would merge, as for tables. Arrays of
/// float32 and of small whole numbers stay as they are.
/// @param known  preparation of the run that will get the samples
/// @return  the preparation, if a column is centred
std::optional<Preparation> centre_columns(std::vector<PartArrays>& parts,
                                          const std::optional<Preparation>& known,
                                          std::vector<std::string>& notes);

}  // namespace skyline::store
