#pragma once

#include <string>
#include <vector>

namespace skyline::machine {

/// The processors that each rank of a node gets for itself: its mask where it overlaps with no other; where
/// masks overlap, their processors are dealt out evenly. With fewer processors than ranks some share one.
/// Nobody gets none. Deterministic, so that every rank computes the same.
/// @param masks  [ranks of the node], affinity mask of each, ascending, not empty
/// @return       [ranks of the node], ascending
std::vector<std::vector<int>> share_processors(const std::vector<std::vector<int>>& masks);

/// Those of all masks, each once, ascending.
std::vector<int> all_processors(const std::vector<std::vector<int>>& masks);

/// How many ranks have no processor that is theirs alone. @param shares  of share_processors
int count_sharing_ranks(const std::vector<std::vector<int>>& shares);

/// This machine's name.
std::string host_name();

}  // namespace skyline::machine
