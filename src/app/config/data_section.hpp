#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/store/dataset.hpp"

#include "app/config/config_sections.hpp"

#include <cstdint>
#include <string>

namespace skyline::app {

/// Finds the data set file that the section `data` names: relative to the configuration's folder, else to the
/// folder in which the program starts. @throws UserError at `file`, with the command that makes one, if it is
/// in neither
std::string locate_data(const ConfigNode& section, const std::string& file);

/// States the facts about the data set of `data`. @throws UserError at a key of the section that states
/// something else, or if the training set is empty
void describe_data(const ConfigNode& section, const store::Dataset& dataset, DataOptions& data);

/// Returns the split of the training set into training and validation samples.
/// @throws UserError at `validation` for an empty part
store::SplitIndices split_data(const ConfigNode& section, const store::Dataset& dataset,
                               const DataOptions& data, std::uint64_t run_seed);

}  // namespace skyline::app
