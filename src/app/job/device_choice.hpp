#pragma once

#include "comm/environment.hpp"
#include "machine/device_binding.hpp"
#include "train/course/training_evaluator.hpp"
#include "train/device/accelerator.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::app {

/// train::load_accelerator, but for tests.
using AcceleratorLoader = std::function<std::shared_ptr<train::Accelerator>(std::string& reason)>;

/// A folder for a library's files, removed with what is in it when the job ends. It has a name that nobody
/// could foresee, and is for this user alone: others could have put a link in the place of a file.
class ScratchFolder {
 public:
  /// @param start  of its name, in the folder for temporary files. @throws FaultError
  explicit ScratchFolder(const std::string& start);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What this rank trains on.
struct ChosenDevice {
  std::string problem;                      // why the job cannot start, the same on all ranks; empty: it can
  train::DeviceUse use;                     // no accelerator: the CPU
  bool on_gpus = false;                     // all that train do so on GPUs
  std::shared_ptr<ScratchFolder> nccl_log;  // lives as long as NCCL may write to it
};

/// What this rank and its node have, without starting anything.
/// @param accelerator  nullptr: no device can be used, for this `reason`
/// @param root         of the file system that tells the topology; "/" but for tests
machine::RankView look_at_devices(const comm::NodePlace& place, const train::Accelerator* accelerator,
                                  std::string reason, const std::filesystem::path& root);

/// Whether ranks train trials together.
bool trains_in_groups(const train::TrainingOptions& options);

/// What NCCL would be told on this node, and what it was told before. @param gpu  name of this rank's
std::string describe_nccl(const std::string& gpu, const std::filesystem::path& root);

/// Kind of a device as journals record it.
std::string device_kind(const ChosenDevice& chosen);

/// Collective: decides what all ranks train on, moves this rank's processors near its device and prepares
/// NCCL. Rank 0 logs what was found. Call it before slots start: it changes the environment.
/// @param begun   rank 0's: device_kind of the run's first job; empty: not recorded, or no run to go on with
/// @param trains  whether this rank trains
/// @param root    of the file system that tells the topology; "/" but for tests
ChosenDevice choose_device(comm::Environment& environment, const train::TrainingOptions& options,
                           std::string_view begun, bool trains, const AcceleratorLoader& load,
                           const std::filesystem::path& root = "/");

/// What this machine would train on, without starting anything: lines for a person.
std::vector<std::string> describe_device(const train::TrainingOptions& options, const AcceleratorLoader& load,
                                         const std::filesystem::path& root = "/");

}  // namespace skyline::app
