#pragma once

#include <string>
#include <vector>

namespace skyline::machine {

/// Shares the processors of a node among its ranks: a mask that overlaps with no other stays whole; the
/// processors of overlapping masks are distributed evenly. With fewer processors than ranks some share one;
/// every rank gets at least one. Deterministic, so that every rank computes the same.
/// @param masks  [ranks of the node], affinity mask of each, ascending, not empty
/// @return       [ranks of the node], ascending
std::vector<std::vector<int>> share_processors(const std::vector<std::vector<int>>& masks);

/// All processors of the masks, each once, ascending.
std::vector<int> all_processors(const std::vector<std::vector<int>>& masks);

/// Number of ranks that have no processor to themselves. @param shares  of share_processors
int count_sharing_ranks(const std::vector<std::vector<int>>& shares);

/// This machine's name.
std::string host_name();

}  // namespace skyline::machine
