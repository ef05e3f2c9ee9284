#pragma once

#include "train/device/accelerator.hpp"

#include <memory>

namespace skyline::train {

/// Makes a reducer for the host's memory: by the group itself, along its fixed tree. Its join() waits.
std::unique_ptr<DeviceReducer> make_host_reducer(trial::TrialGroup& group);

}  // namespace skyline::train
