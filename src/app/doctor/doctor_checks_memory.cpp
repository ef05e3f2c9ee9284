#include "app/doctor/doctor_checks.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace skyline::app {
namespace {

constexpr double kLeastMemoryOfRank = 1.0e9;  // LibTorch alone takes some 300 MB
// MPI has a segment of each rank there, NCCL has buffers per pair of GPUs. Containers have 64 MB by default.
constexpr double kLeastShared = 256e6;
constexpr double kSharedOfRank = 16e6;
constexpr std::uint64_t kFilesOfRank = 2;   // TCP connections from and to another rank
constexpr std::uint64_t kOtherFiles = 200;  // libraries, the run folder, storage

/// @pre the free memory is known
double usable_bytes(const machine::NodeLimits& limits) {
  return static_cast<double>(
      std::min(*limits.memory_free_bytes, limits.memory_bytes.value_or(*limits.memory_free_bytes)));
}

}  // namespace

Finding judge_memory(int ranks_of_node, const machine::NodeLimits& limits) {
  if (!limits.memory_free_bytes) return {Verdict::kNote, "memory", "free memory is not told", ""};
  const auto free = static_cast<double>(*limits.memory_free_bytes);
  const double limit = static_cast<double>(limits.memory_bytes.value_or(*limits.memory_free_bytes));
  const double usable = usable_bytes(limits);
  const std::string ranks = counted(static_cast<std::size_t>(ranks_of_node), "rank");
  const std::string text =
      limit < free ? "the control group grants " + with_unit(limit / kGigabyte, "GB") + " to " + ranks
                   : "more than " + with_coarse_unit(free / kGigabyte, "GB") + " free for " + ranks;
  if (usable / ranks_of_node < kLeastMemoryOfRank) {
    return {
        Verdict::kWarning, "memory", text,
        "start fewer ranks a node (each needs about 1 GB and its networks'), or ask for more: sbatch --mem, "
        "docker --memory"};
  }
  return {Verdict::kGood, "memory", text, ""};
}

std::optional<Finding> judge_data_size(const std::string& file, std::uint64_t bytes,
                                       const machine::NodeLimits& limits) {
  if (!limits.memory_free_bytes || static_cast<double>(bytes) <= usable_bytes(limits)) return std::nullopt;
  return Finding{
      Verdict::kWarning, "data size",
      file + " has " + with_unit(static_cast<double>(bytes) / kGigabyte, "GB") + ", and " +
          with_unit(usable_bytes(limits) / kGigabyte, "GB") + " of memory are free",
      "it will be read from the disk again and again: ask for more memory, or have it on a fast disk of "
      "the node (data.stage)"};
}

std::optional<Finding> judge_shared_memory(int ranks_of_node, const machine::NodeLimits& limits) {
  if (ranks_of_node < 2) return std::nullopt;
  const std::string advice =
      "MPI and NCCL exchange messages through it: docker --shm-size=16g or --ipc=host, shm_size in Azure ML";
  if (!limits.shared_memory_bytes) {
    return Finding{Verdict::kWarning, "shared memory", "there is no /dev/shm", advice};
  }
  const auto size = static_cast<double>(*limits.shared_memory_bytes);
  if (size >= std::max(kLeastShared, kSharedOfRank * ranks_of_node)) return std::nullopt;
  return Finding{Verdict::kWarning, "shared memory",
                 "/dev/shm has " + with_unit(size / kMegabyte, "MB") + " for " +
                     counted(static_cast<std::size_t>(ranks_of_node), "rank"),
                 advice};
}

std::optional<Finding> judge_open_files(int ranks, const machine::NodeLimits& limits) {
  const std::uint64_t needed = kFilesOfRank * static_cast<std::uint64_t>(ranks) + kOtherFiles;
  if (!limits.open_files || *limits.open_files >= needed) return std::nullopt;
  return Finding{
      Verdict::kWarning, "open files",
      "a process may have " + std::to_string(*limits.open_files) + ", with " +
          counted(static_cast<std::size_t>(ranks), "rank") + " it may need " + std::to_string(needed),
      "ulimit -n " + std::to_string(2 * needed) + " in the job, LimitNOFILE of the batch system's daemon"};
}

}  // namespace skyline::app
