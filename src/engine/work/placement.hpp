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

/// The slots, hosts and processors of all ranks, as rank 0 knows them. A rank 0 that coordinates only has no
/// slot, and a lost rank has none any more.
struct RankTable {
  std::vector<std::size_t> slots;       // [ranks]
  std::vector<std::string> hosts;       // [ranks]
  std::vector<std::size_t> processors;  // [ranks] of each rank's own
  bool groups_span = true;              // whether several ranks may train a trial together
};

/// Most ranks that may train a trial together.
std::size_t ranks_for_groups(const RankTable& table);

/// Number of ranks that train a trial of so many members together: each holds the same power of two of
/// consecutive members (the last may hold fewer), the smallest for which there are enough ranks.
/// @param members, available  at least 1
std::size_t ranks_of_group(std::uint32_t members, std::size_t available);

/// First ranks of the blocks of consecutive ranks that may train a trial together: they don't overlap, and
/// lie within a host each where there is a host with so many.
/// @param ranks  of a block; no more than train
std::vector<std::size_t> blocks_of(const RankTable& table, std::size_t ranks);

/// The place of a trial: a slot of a rank or, with several members, the first slots of a block of ranks.
struct Placement {
  std::size_t rank = 0;  // the first
  std::size_t slot = 0;
  std::size_t ranks = 1;
  bool operator==(const Placement&) const = default;
};

/// A trial and the place where it trains.
struct Assignment {
  std::shared_ptr<const trial::Trial> trial;
  std::optional<GroupPlace> group;  // for a trial with several members; else the slot alone
  std::uint32_t attempt = 0;        // greater than 0: other slots had it before
  bool last = false;                // its second try: whatever it comes to is its result
};

}  // namespace skyline::engine
