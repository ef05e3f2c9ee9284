#pragma once

#include "skyline/space/network.hpp"

#include "store/run_folder/run_folder.hpp"

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace skyline::store {

/// Costs that a program has counted, by architecture, in the order of SearchSpace::counted().
using CountedCosts = std::unordered_map<space::ArchId, std::vector<double>>;

/// Reads trainer/costs.jsonl, in which a run keeps all answers of its program; empty without it. Lines that
/// are damaged, or have another number of costs, are left out. @throws as read_file
CountedCosts read_counted_costs(const RunPaths& paths, std::size_t costs);

/// Appends answers. @throws as publish_file
void append_counted_costs(const RunPaths& paths,
                          std::span<const std::pair<space::ArchId, std::vector<double>>> counted);

}  // namespace skyline::store
