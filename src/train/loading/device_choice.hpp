#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"

#include "comm/environment.hpp"
#include "machine/device_binding.hpp"
#include "train/device/accelerator.hpp"
#include "train/options/training_options.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::train {

/// load_accelerator, but for tests.
using AcceleratorLoader = std::function<std::shared_ptr<Accelerator>(std::string& reason)>;

/// Which device a job asks for.
struct DeviceWish {
  DeviceChoice choice = DeviceChoice::kAuto;
  bool groups = false;  // ranks train trials together
  bool trains = true;   // this rank
  /// Rank 0: "cpu" or "gpu", that the run began on; empty: not known, or it begins now.
  std::string_view begun = {};
};

/// What this rank and its node have, without starting anything.
/// @param accelerator  nullptr: no device can be used, for this `reason`
/// @param root         of the file system that tells the topology; "/" but for tests
machine::RankView look_at_devices(const comm::NodePlace& place, const Accelerator* accelerator,
                                  std::string reason, const std::filesystem::path& root);

/// What NCCL would be told on this node, and what it was told before. @param gpu  name of this rank's
std::string describe_nccl(const std::string& gpu, const std::filesystem::path& root);

/// Collective: decides what all ranks train on, binds this thread to processors near its device and prepares
/// NCCL. Rank 0 logs what was found. Call it before slots start: it changes environment variables.
/// @param place  of this rank
/// @param root  of the file system that tells the topology; "/" but for tests
/// @throws UserError on all ranks if the job cannot start with what they have
DeviceUse choose_device(evaluate::Ranks& ranks, const trial::Place& place, const DeviceWish& wish,
                        const AcceleratorLoader& load, const std::filesystem::path& root = "/");

/// What this machine would train on, without starting anything: lines for a person.
std::vector<std::string> describe_device(const DeviceWish& wish, const AcceleratorLoader& load,
                                         const std::filesystem::path& root = "/");

}  // namespace skyline::train
