#pragma once

#include "engine/dispatch/collective_dispatcher.hpp"

namespace skyline::engine {

/// The other ranks' side of CollectiveDispatcher: trains what comes until rank 0 sends this rank home. Every
/// wait is polled, and between polls `check` looks after the rest of the rank and throws what a thread of it
/// has met.
void serve_rounds(comm::Communicator& world, const RoundFormat& format, SlotPool& own_slots,
                  ResultKeeper& results, const std::function<void()>& check);

}  // namespace skyline::engine
