#pragma once

#include "skyline/space/search_space.hpp"

#include "app/config/config_sections.hpp"
#include "model_export/model/exported_model.hpp"
#include "store/arrays/preparation.hpp"

#include <vector>

namespace skyline::app {

/// Returns what an exported network says about itself: which one it is, and what it reads and gives.
model_export::Metadata network_metadata(const space::SearchSpace& space,
                                        const space::Architecture& architecture, const DataOptions& data);

/// Returns the scales of targets, one per output; empty unless they are numbers of a table.
std::vector<store::TargetColumn> scaled_targets(const DataOptions& data);

/// Returns a network as it is exported: it reads the values of the data set as they are stored, and gives
/// numbers in the units of their table. Without a data set nothing is scaled.
/// @param data  facts about the data set
/// @throws UserError if its means do not fit the network
model_export::ExportedModel exported_network(const space::Network& network, const store::WeightsFile& weights,
                                             const DataOptions& data, model_export::Metadata metadata);

}  // namespace skyline::app
