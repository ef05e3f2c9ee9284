#pragma once

#include "skyline/space/network.hpp"

#include "train/options/training_options.hpp"

#include <cstddef>
#include <cstdint>

namespace skyline::train {

/// Predicts the bytes that training a network takes on a device from its shapes: weights, gradients and the
/// optimizer's moments, activations kept for the backward pass (or those of scoring a batch, if that is
/// more), a library's work space. A function of its arguments; it is meant to be too high by some tens of
/// percent rather than too low.
/// @param members  members of the trial's group; the result is for one of them
std::size_t predict_device_bytes(const space::Network& network, const TrainingOptions& options,
                                 std::uint32_t members = 1);

/// Predicts the bytes that training a network takes in a slot on processors. Fused ops keep less there, but
/// freed blocks of one size cannot be used for another, and the state is copied for checkpoints and weights.
std::uint64_t predict_host_bytes(const space::Network& network, const TrainingOptions& options,
                                 std::uint32_t members = 1);

}  // namespace skyline::train
