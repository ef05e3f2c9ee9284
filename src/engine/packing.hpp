#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace skyline::engine {

/// Spreads trials over slots so that all slots end about together: longest first onto the least loaded slot.
/// Deterministic: of equal costs the earlier trial goes first, of equal loads the slot with the lower index.
/// @param costs     predicted work of each trial, positive and finite
/// @param slots     number of slots, at least 1
/// @param capacity  most trials of a slot; slots * capacity >= number of trials
/// @return          slot of each trial, [number of trials]
/// @see Graham, SIAM J. Appl. Math. 17(2), 1969: at most 4/3 - 1/(3 slots) times the best makespan
std::vector<std::size_t> pack(std::span<const double> costs, std::size_t slots, std::size_t capacity);

}  // namespace skyline::engine
