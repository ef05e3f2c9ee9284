#pragma once

#include "train/device/accelerator.hpp"

#include <memory>

namespace skyline::train {

/// Makes a reducer for members that share a device, with which NCCL does not work: tensors are copied to the
/// host's memory, summed there by the group along its fixed tree, and copied back by join(). It waits for the
/// current stream at each operation, so its operations cannot be recorded. No work on the device waits for
/// another member. The group must outlive it.
std::unique_ptr<DeviceReducer> make_staged_reducer(trial::TrialGroup& group);

}  // namespace skyline::train
