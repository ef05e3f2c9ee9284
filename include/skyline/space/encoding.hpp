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

/// A number that describes a network, by its name, e.g. "conv2d kernel=3".
struct Feature {
  std::string name;
  double value = 0;
  /// Whether it is a number of layers. A network has many such features, which are highly correlated.
  bool is_count = false;
};

/// Returns features of a network alone: the logarithms of its MACs, of its parameters and of its number of
/// paths from input to output; how many steps (layers that do not only join others) and how many layers with
/// weights lie on a path, at most, at least and on average over all paths; and counts of layers: of each
/// kind, of each value of each of its attributes, of steps, and of layers with weights. A kind or value that
/// does not occur has no feature; its count is 0. Local; deterministic on one machine. Cost O(layers).
/// @return  sorted by name, each name once
/// @see Kadlecova et al., ICML 2024, for features of this sort
std::vector<Feature> features(const Network& network);
/// Returns the features of its network, none if it has no network.
std::vector<Feature> features(const Architecture& architecture);

/// Returns all valid architectures that differ from this one in one parameter, each once, in the order of
/// parameters and their values. It builds a network per value of each used parameter. Local; deterministic.
/// @throws UserError if the genotype itself is invalid
std::vector<Architecture> neighbours(const SearchSpace& space, const Genotype& genotype);

}  // namespace skyline::space
