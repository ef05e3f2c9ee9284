#pragma once

#include "skyline/trial/trial.hpp"

#include "engine/group/group_pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::engine {

/// The work that a slot has already.
struct SlotLoad {
  double work = 0;
  std::size_t trials = 0;
};

/// Distributes trials over slots so that all slots end at about the same time: longest first onto the least
/// loaded slot. Deterministic: of equal costs the earlier trial goes first, of equal loads the slot with the
/// lower index.
/// @param costs     predicted work of each trial, positive and finite
/// @param loads     of the slots, at least one
/// @param capacity  most trials of a slot; there is room for all
/// @return          slot of each trial, [number of trials]
/// @see Graham, SIAM J. Appl. Math. 17(2), 1969: at most 4/3 - 1/(3 slots) times the best makespan
std::vector<std::size_t> pack(std::span<const double> costs, std::span<const SlotLoad> loads,
                              std::size_t capacity);

/// The slots, hosts and processors of all ranks, as rank 0 knows them. Those that train are consecutive: a
/// rank 0 that coordinates only has no slot.
struct RankTable {
  std::vector<std::size_t> slots;       // [ranks]
  std::vector<std::string> hosts;       // [ranks]
  std::vector<std::size_t> processors;  // [ranks] of each rank's own
  bool groups_span = true;              // whether several ranks may train a trial together
  std::size_t most_slots = 0;           // of any rank; known to every rank
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

struct TrialWork {
  double cost = 0;  // predicted, positive and finite
  std::uint32_t members = 1;
};

/// The place of a trial: a slot of a rank or, with several members, the first rank slots of a block of ranks.
struct Placement {
  std::size_t rank = 0;  // the first
  std::size_t slot = 0;
  std::size_t ranks = 1;
};

struct RoundPlan {
  std::vector<Placement> places;   // [trials]
  std::vector<std::size_t> order;  // the order in which every slot trains its trials
};

/// Distributes the trials of a round. Those of groups come first, the widest and then the longest first, each
/// onto the block of ranks that can begin it earliest; then the others onto all slots, which train them in
/// the order of numbers. A group waits for all its ranks, so one order for all slots keeps two groups from
/// waiting for each other. Deterministic.
/// @param trials    by number
/// @param capacity  most trials of a slot; there is room for all, and no more groups than that
RoundPlan plan_round(std::span<const TrialWork> trials, const RankTable& table, std::size_t capacity);

/// A trial and the place where it trains.
struct Assignment {
  trial::Trial trial;
  std::optional<GroupPlace> group;  // for a trial with several members; else the slot alone
};

}  // namespace skyline::engine
