#pragma once

#include "machine/device_binding.hpp"
#include "train/options/training_options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace skyline::train {

/// The device on which each rank of a job trains.
struct DevicePlan {
  std::string problem;                         // why the job cannot start, one line; empty: it can
  bool on_gpus = false;                        // false: all train on the CPU
  std::vector<machine::RankBinding> bindings;  // of each rank, if there is no problem
  std::vector<std::string> lines;              // for the log: the devices in use
  std::vector<std::string> fabric;             // for the log: the adapters between nodes
  std::vector<std::string> warnings;
};

/// Plans training on GPUs for all ranks, or on the CPU for all: a trial's result must not depend on where it
/// runs. A resumed run with a free choice keeps the kind of device that it began on, since another kind sums
/// in another order and gives other results.
/// @param choice  kCuda refuses a rank without a GPU, kAuto a job of which some ranks have one
/// @param begun   "cpu" or "gpu", what kAuto chose when the run began; empty: not known, or it begins now
/// @param groups  whether ranks train trials together
/// @param ranks   by world rank
DevicePlan plan_devices(DeviceChoice choice, std::string_view begun, bool groups,
                        const std::vector<machine::RankView>& ranks);

}  // namespace skyline::train
