#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/store/dataset.hpp"

#include "app/config/config_sections.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace skyline::app {

/// The data set file that the section `data` names: seen from where the program starts, else from the
/// configuration's folder.
/// @throws UserError at `file`, with the command that makes one, if it is in neither
std::string locate_data(const ConfigNode& section, const std::string& file);

/// Opens the data set of `data`, which must be what the section states of it, and states what it is.
/// @param verify  recompute its checksums
/// @throws UserError at a key that states something else
std::shared_ptr<const store::Dataset> open_data_set(const ConfigNode& section, DataOptions& data,
                                                    bool verify);

/// What is held out of the training set for validation. @throws UserError at `validation` for an empty part
store::SplitIndices split_data(const ConfigNode& section, const store::Dataset& dataset,
                               const DataOptions& data, std::uint64_t run_seed);

}  // namespace skyline::app
