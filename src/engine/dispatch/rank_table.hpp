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

/// The processors of rank 0, as it knows them when its search thinks.
struct ThinkPlace {
  std::size_t own = 1;        // processors that it shares with no other rank of its node
  std::size_t allowed = 1;    // processors on which it may run
  std::size_t slots = 0;      // none if it only coordinates
  std::size_t under_way = 0;  // trials that its slots have
};
/// Returns on how many threads the search may think now: as many as the options ask for, else one for each of
/// its own processors that trials do not need. At least one, and at most what it may run on and the control
/// groups grant.
std::size_t think_threads(const EngineOptions& options, const ThinkPlace& place);

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
