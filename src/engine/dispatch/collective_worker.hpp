#pragma once

#include "engine/dispatch/collective_dispatcher.hpp"

namespace skyline::engine {

/// The other ranks' side of CollectiveDispatcher: trains incoming trials until rank 0 ends the rounds. Every
/// wait is polled; between polls `check` looks after the rest of the rank and rethrows errors of its threads.
void serve_rounds(comm::Communicator& world, const RoundFormat& format, SlotPool& own_slots,
                  ResultKeeper& results, const std::function<void()>& check);

}  // namespace skyline::engine
