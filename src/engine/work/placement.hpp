#pragma once

#include "skyline/trial/trial.hpp"

#include "engine/group/group_pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::engine {

/// The slots, hosts and processors of all ranks, as rank 0 knows them. A rank 0 that only coordinates has no
/// slot, and a lost rank has none any more.
struct RankTable {
  std::vector<std::size_t> slots;       // [ranks]
  std::vector<std::string> hosts;       // [ranks]
  std::vector<std::size_t> processors;  // [ranks], number of each rank's own
  bool groups_span = true;              // whether several ranks may train a trial together
};

/// Returns the largest number of ranks that may train a trial together.
std::size_t ranks_for_groups(const RankTable& table);

/// Returns the number of ranks that train a trial of so many members together. Each has the same power of two
/// of consecutive members (the last may have fewer), the smallest one for which there are enough ranks.
/// @param members, available  at least 1
std::size_t ranks_of_group(std::uint32_t members, std::size_t available);

/// Ranks that may train a trial together.
using Block = std::vector<std::size_t>;

/// Returns blocks, which don't overlap: the ranks of each host that train, cut into blocks. If no host has so
/// many, those of all hosts are cut, host by host.
/// @param ranks  size of a block; at most as many as train
std::vector<Block> blocks_of(const RankTable& table, std::size_t ranks);

/// The place of a trial: a slot of a rank or, with several members, the first slots of a block of ranks.
struct Placement {
  Block ranks = {0};
  std::size_t slot = 0;  // slot of each rank
  bool operator==(const Placement&) const = default;
};

/// A trial and the place where it trains.
struct Assignment {
  std::shared_ptr<const trial::Trial> trial;
  std::optional<GroupPlace> group;  // set for a trial with several members, which needs more than the slot
  std::uint32_t attempt = 0;        // greater than 0 if other slots had it before
  std::uint32_t tried = 0;          // number of its tries that have failed, and not in doubt
  std::uint32_t losses = 0;         // number of its tries whose rank was lost
  std::string last_failure = {};    // reason of the last of those that failed
  bool in_doubt = false;            // whether a failure of its program may be the host's (Arrival)
};

}  // namespace skyline::engine
