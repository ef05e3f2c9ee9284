#pragma once

#include "machine/device_binding.hpp"
#include "train/options/training_options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace skyline::train {

/// The device on which each rank of a job trains.
struct DevicePlan {
  std::string problem;                         // one line that says why the job cannot start, or empty
  bool on_gpus = false;                        // false if all train on the CPU
  std::vector<machine::RankBinding> bindings;  // binding of each rank, if there is no problem
  std::vector<std::string> lines;              // lines for the log: the devices in use
  std::vector<std::string> fabric;             // lines for the log: the adapters between nodes
  std::vector<std::string> warnings;
};

/// Plans training on GPUs for all ranks, or on the CPU for all, because a trial's result must not depend on
/// where it runs. A resumed run with a free choice keeps the kind of device on which it began: another kind
/// sums in another order and gives other results.
/// @param choice  kCuda refuses a rank without a GPU, kAuto a job in which only some ranks have one
/// @param begun   "cpu" or "gpu", chosen by kAuto when the run began; empty if it is unknown, or the run
///                begins now
/// @param groups  whether ranks train trials together
/// @param ranks   by world rank
DevicePlan plan_devices(DeviceChoice choice, std::string_view begun, bool groups,
                        const std::vector<machine::RankView>& ranks);

}  // namespace skyline::train
