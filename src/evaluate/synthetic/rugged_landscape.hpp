#pragma once

#include "skyline/space/network.hpp"

#include <cstdint>

namespace skyline::evaluate {

/// Returns how good a network is, 0 to 1, on a made-up landscape with many local optima. It is a function of
/// the layers and their connections, made of rational functions alone: the same bits on every processor.
/// - Each stage (layers of one resolution) has a gain that saturates. A layer adds to it by its kind, by its
///   width, and by how near its kernel is to the one that suits the stage.
/// - Neighbours suit each other or not, and a jump in width costs.
/// - Sums (residual connections) help; so do some kinds of the layers between.
/// - A network with many parameters overfits.
/// @param seed  landscapes of other seeds have other optima
double rugged_quality(const space::Network& network, std::uint64_t seed);

}  // namespace skyline::evaluate
