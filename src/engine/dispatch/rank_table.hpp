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

/// Returns the number of slots of this rank: the requested one, else the evaluator's, else one per
/// threads_per_slot of its processors, at least one; 0 on a rank 0 that only coordinates. Local.
/// @param processors  number of processors of this rank
/// @throws UserError if no rank would train, or for 0 slots or 0 threads per slot
std::size_t own_slots(const comm::Communicator& world, std::size_t processors, const EngineOptions& options,
                      const trial::Evaluator& evaluator);

/// Returns a number that differs between ranks that would misread each other's records or evaluate
/// differently.
std::uint64_t fingerprint(const space::SearchSpace& space, const store::JournalHeader& header,
                          const EngineOptions& options);

/// Exchanges the ranks' facts at the start of a run. Collective.
/// @param slots, processors  numbers of this rank
/// @throws InternalError on rank 0 if a rank's fingerprint differs from rank 0's
RankTable exchange_ranks(comm::Environment& environment, std::size_t slots, std::size_t processors,
                         std::uint64_t fingerprint);

/// Returns the slots of all ranks, with all times 0. @pre rank 0
std::vector<run::SlotAccount> slots_of(const RankTable& ranks);

}  // namespace skyline::engine
