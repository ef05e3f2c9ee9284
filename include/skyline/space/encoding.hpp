#pragma once

#include "skyline/space/search_space.hpp"

#include <string>
#include <vector>

namespace skyline::space {

// Architectures as numbers, for surrogate models. Similar architectures have near numbers.

/// Returns the parameters of an architecture as numbers, in their order. A parameter whose values are numbers
/// gives one number: from 0 to 1 by its place among the values, or -1 if the network does not use it. Any
/// other parameter gives one number per value: 1 for the chosen one and 0 for the rest, or only zeros if it
/// is not used. Local; deterministic.
std::vector<double> encode(const SearchSpace& space, const Architecture& architecture);

/// A number that describes a graph, by its name: "conv2d kernel=3, longest".
struct Feature {
  std::string name;
  double value = 0;
};

/// Returns features of a network alone: logarithms of its costs; numbers of layers, of connections and of
/// paths from input to output (the logarithm); and for each kind of layer, each value of each of its
/// attributes, and all layers with weights: how many there are, and how many lie on a path, at most, at least
/// and on average over all paths. A kind or value that does not occur has no features; its numbers are 0.
/// Local; deterministic on one machine. Cost O(layers x kinds and values).
/// @return  sorted by name, each name once
/// @see Kadlecova et al., ICML 2024, for features of this sort
std::vector<Feature> features(const Network& network);

/// Returns all valid architectures that differ from this one in one parameter, each once, in the order of
/// parameters and their values. It builds a network per value of each used parameter. Local; deterministic.
/// @throws UserError if the genotype itself is invalid
std::vector<Architecture> neighbours(const SearchSpace& space, const Genotype& genotype);

}  // namespace skyline::space
