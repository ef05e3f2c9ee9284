#pragma once

#include "skyline/space/search_space.hpp"

#include <vector>

namespace skyline::space {

// Architectures as vectors of one length, for surrogate models. Similar architectures have near vectors.

/// Returns the parameters of an architecture as numbers, in their order. A parameter whose values are numbers
/// gives one number: from 0 to 1 by its place among the values, or -1 if the network does not use it. Any
/// other parameter gives one number per value: 1 for the chosen one and 0 for the rest, or only zeros if it
/// is not used. Local; deterministic.
std::vector<double> encode(const SearchSpace& space, const Architecture& architecture);

/// Returns features of a graph, the same ones for all spaces: logarithms of its costs, of its numbers of
/// layers and connections and of its longest path; then how often each sequence of one, two or three layers
/// (kinds and attributes) occurs along its paths. Sequences are hashed to places, so some share one. Local;
/// deterministic. Cost O(sequences).
/// @return [kGraphFeatures]
/// @see Weinberger et al., ICML 2009, for the hashing; White et al., AAAI 2021, for paths
std::vector<double> encode(const Network& network);
inline constexpr std::size_t kGraphFeatures = 9 + 3 * 64;

/// Returns all valid architectures that differ from this one in one parameter, each once, in the order of
/// parameters and their values. It builds a network per value of each used parameter. Local; deterministic.
/// @throws UserError if the genotype itself is invalid
std::vector<Architecture> neighbours(const SearchSpace& space, const Genotype& genotype);

}  // namespace skyline::space
