#pragma once

#include "skyline/space/search_space.hpp"
#include "skyline/trial/evaluator.hpp"

#include "comm/environment.hpp"
#include "engine/work/engine_options.hpp"
#include "engine/work/placement.hpp"
#include "run/account.hpp"
#include "store/journal/journal.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline::engine {

/// The slots of this rank: as asked for, else as many as the evaluator wants, else one for each
/// threads_per_slot of its processors, at least one; none on a rank 0 that coordinates only. Local.
/// @param processors  of this rank
/// @throws UserError if nobody would train, or for 0 slots or 0 threads a slot
std::size_t own_slots(const comm::Communicator& world, std::size_t processors, const EngineOptions& options,
                      const trial::Evaluator& evaluator);

/// Differs between ranks that would not understand each other's records or evaluate differently.
std::uint64_t fingerprint(const space::SearchSpace& space, const store::JournalHeader& header,
                          const EngineOptions& options);

/// Collective, at the start of a run.
/// @param slots, processors  of this rank
/// @throws InternalError on rank 0 if a rank's fingerprint is not that of rank 0
RankTable exchange_ranks(comm::Environment& environment, std::size_t slots, std::size_t processors,
                         std::uint64_t fingerprint);

/// The slots of all ranks, with nothing done yet. @pre rank 0
std::vector<run::SlotAccount> slots_of(const RankTable& ranks);

}  // namespace skyline::engine
