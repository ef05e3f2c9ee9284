#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"

#include "comm/environment.hpp"
#include "machine/device_binding.hpp"
#include "train/device/accelerator.hpp"
#include "train/options/training_options.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::train {

/// Loads the accelerator: load_accelerator, except in tests.
using AcceleratorLoader = std::function<std::shared_ptr<Accelerator>(std::string& reason)>;

/// The device that a job asks for.
struct DeviceWish {
  DeviceChoice choice = DeviceChoice::kAuto;
  std::uint32_t members = 1;  // most members of a group; more than 1 if ranks train trials together
  bool trains = true;         // whether this rank trains
  /// On rank 0: "cpu" or "gpu", on which the run began; empty if it is unknown, or the run begins now.
  std::string_view begun = {};
};

DeviceWish wish_of(const TrainingOptions& options);

/// Returns the devices of this rank and the facts about its node, without starting anything.
/// @param accelerator  nullptr if no device can be used, for this `reason`
/// @param root         root of the file system with the topology; tests use another one than "/"
machine::RankView inspect_devices(const comm::NodePlace& place, const Accelerator* accelerator,
                                  std::string reason, const std::filesystem::path& root);

/// Says which settings NCCL would get on this node, and which it already has.
/// @param gpu  name of this rank's GPU
std::string describe_nccl(const std::string& gpu, const std::filesystem::path& root);

/// Decides on which devices all ranks train, binds this thread to processors near its device, and prepares
/// NCCL. Collective. Rank 0 logs the findings. Call it before slots start, because it changes environment
/// variables.
/// @param place  place of this rank
/// @param root  root of the file system that describes the topology; "/" except in tests
/// @throws UserError on all ranks if the job cannot start with its devices
DeviceUse choose_device(evaluate::Ranks& ranks, const trial::Place& place, const DeviceWish& wish,
                        const AcceleratorLoader& load, const std::filesystem::path& root = "/");

/// Says in lines for a person on what this machine would train, without starting anything.
std::vector<std::string> describe_device(const DeviceWish& wish, const AcceleratorLoader& load,
                                         const std::filesystem::path& root = "/");

}  // namespace skyline::train
