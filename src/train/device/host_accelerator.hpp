#pragma once

#include "skyline/space/network.hpp"

#include "train/device/accelerator.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace skyline::train {

/// Makes the CPU as a device: work is done at once, and a graph calls its work again. With ATen's kernels it
/// replaces GPUs in tests.
std::unique_ptr<Accelerator> make_host_accelerator(Kernels kernels = Kernels::kAten);

/// Converts a stored sample, [channels, height, width], into the network's input.
/// @param tables  of the channels, see ValueScaling::tables
/// @param input   out: [height, width, channels]
void scale_image(const std::uint8_t* image, const space::Shape& shape, std::span<const float> tables,
                 float* input);
void scale_image(const float* image, const space::Shape& shape, std::span<const float> tables, float* input);

/// Makes a reducer for the host's memory: by the group itself, along its fixed tree. Its join() waits.
std::unique_ptr<DeviceReducer> make_host_reducer(trial::TrialGroup& group);

}  // namespace skyline::train
