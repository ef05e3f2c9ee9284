#pragma once

#include <cstddef>
#include <span>

namespace skyline::engine {

/// Adds the terms along the tree of TrialGroup: at distance 1, 2, 4, ... term(i) + term(i + distance).
/// Local; the same bits on every machine.
/// @param terms    each of `count` values
/// @param results  receive the sum, each of `count` values; may be among the terms
void add_along_tree(std::span<const float* const> terms, std::size_t count, std::span<float* const> results);
void add_along_tree(std::span<const double* const> terms, std::size_t count,
                    std::span<double* const> results);

}  // namespace skyline::engine
