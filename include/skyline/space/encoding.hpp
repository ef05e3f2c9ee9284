#pragma once

#include "skyline/space/search_space.hpp"

#include <vector>

namespace skyline::space {

// Architectures as vectors of one length, for surrogate models: near ones are alike.

/// The parameters of an architecture, in their order. One whose values are numbers gives a value from 0 to 1
/// by its place among them, or -1 if the network does not use it; others give a 1 for their value and 0 for
/// the rest, all 0 if they are not used. Local; deterministic.
std::vector<double> encode(const SearchSpace& space, const Architecture& architecture);

/// Features of a graph, of all spaces alike: logarithms of its costs, of its numbers of layers and
/// connections and of its longest path; then of how often each sequence of one, two or three layers occurs
/// along its paths, by kinds and attributes. Sequences are hashed to places, which some share. Local;
/// deterministic. Cost O(sequences).
/// @return [kGraphFeatures]
/// @see Weinberger et al., ICML 2009, for the hashing; White et al., AAAI 2021, for paths
std::vector<double> encode(const Network& network);
inline constexpr std::size_t kGraphFeatures = 9 + 3 * 64;

/// All architectures that the change of one parameter makes of this one: valid ones, each once, by the order
/// of parameters and of their values. Local; deterministic. Builds a network for each value of each used
/// parameter.
/// @throws UserError if the genotype itself is invalid
std::vector<Architecture> neighbours(const SearchSpace& space, const Genotype& genotype);

}  // namespace skyline::space
