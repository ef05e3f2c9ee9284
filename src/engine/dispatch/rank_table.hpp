#pragma once

#include "engine/loop/run.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace skyline::engine {

/// The slots of this rank: as asked for, else as many as the evaluator wants, else one for each
/// threads_per_slot of its processors, at least one; none on a rank 0 that coordinates only. Local.
/// @throws UserError if nobody would train, or for 0 slots or 0 threads a slot
std::size_t own_slots(const RunInputs& inputs);

/// What all ranks know of each other.
struct RankTable {
  std::size_t most_slots = 0;           // of any rank
  std::vector<std::size_t> slots;       // [ranks], on rank 0; else empty
  std::vector<std::string> hosts;       // [ranks], on rank 0; else empty
  std::vector<std::size_t> processors;  // [ranks] of each rank's own, on rank 0; else empty
  bool groups_span = true;              // whether several ranks may train a trial together
};

/// Collective, at the start of a run.
/// @throws InternalError on rank 0 if a rank has another space, evaluator or kind of run than rank 0
RankTable exchange_ranks(const RunInputs& inputs, std::size_t slots);

}  // namespace skyline::engine
