#include "app/doctor/doctor_checks.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace skyline::app {
namespace {

constexpr double kShortTime_s = 600;
constexpr const char* kCores = "cores";

std::size_t count_common(const std::vector<int>& left, const std::vector<int>& right) {
  return static_cast<std::size_t>(std::ranges::count_if(
      left, [&](int processor) { return std::ranges::binary_search(right, processor); }));
}

/// Says how a rank gets so many cores.
std::string more_cores(std::size_t cores, comm::Launcher launcher) {
  const std::string count = std::to_string(cores);
  switch (launcher) {
    case comm::Launcher::kMpirun:
      return "mpirun --map-by slot:PE=" + count + " --bind-to core, or --bind-to none";
    case comm::Launcher::kSrun:
      return "srun --cpus-per-task=" + count +
             " (sbatch's is not handed on to srun), no SLURM_CPU_BIND that narrows it";
    case comm::Launcher::kNone:
      return "what confines this process: taskset, a container's --cpuset-cpus; started by mpirun: --map-by "
             "slot:PE=" +
             count + " --bind-to core";
    case comm::Launcher::kOther:
      break;
  }
  return "the launcher's options that bind a rank to " + counted(cores, "core");
}

void judge_sharing(const comm::NodePlace& place, std::vector<Finding>& findings) {
  if (place.sharing_ranks == 0) return;
  findings.push_back(
      {Verdict::kWarning, kCores,
       counted(static_cast<std::size_t>(place.sharing_ranks), "rank") +
           " of a node have no core to themselves: the node's ranks may use " +
           counted(place.node_allowed.size(), "core"),
       "start fewer ranks a node, or ask for more cores: sbatch --cpus-per-task, mpirun --bind-to none"});
}

/// Judges unused cores. Open MPI 4 binds each rank to a core if there are at most two ranks. A single process
/// without a launcher may have been confined on purpose.
void judge_unused(const comm::NodePlace& place, const machine::NodeLimits& limits, comm::Launcher launcher,
                  std::vector<Finding>& findings) {
  const std::size_t used = count_common(limits.processors, place.node_allowed);
  if (used == limits.processors.size() || used == 0) return;
  const std::size_t each = limits.processors.size() / static_cast<std::size_t>(place.local_size);
  findings.push_back({Verdict::kNote, kCores,
                      "the ranks may use " + std::to_string(used) + " of the node's " +
                          counted(limits.processors.size(), "core"),
                      "for all of them: " + more_cores(std::max<std::size_t>(1, each), launcher)});
}

void judge_quota(const comm::NodePlace& place, const machine::NodeLimits& limits,
                 std::vector<Finding>& findings) {
  if (!limits.processor_quota || *limits.processor_quota >= static_cast<double>(place.node_allowed.size()))
    return;
  findings.push_back({Verdict::kWarning, kCores,
                      "the control group grants the time of " + with_unit(*limits.processor_quota, "cores") +
                          ", the ranks run on " + counted(place.node_allowed.size(), "core"),
                      "threads beyond that are held up for a part of each period: fewer --slots, or a larger "
                      "docker --cpus (resources.limits.cpu)"});
}

void judge_numa(const comm::NodePlace& place, const machine::NodeLimits& limits,
                std::vector<Finding>& findings) {
  if (place.local_size < 2) return;
  const auto touched = std::ranges::count_if(limits.numa_nodes, [&](const std::vector<int>& node) {
    return count_common(place.processors, node) > 0;
  });
  if (touched < 2) return;
  findings.push_back({Verdict::kNote, kCores,
                      "a rank's " + counted(place.processors.size(), "core") + " lie on " +
                          counted(static_cast<std::size_t>(touched), "NUMA node"),
                      "memory is nearer with mpirun --map-by numa --bind-to numa, or srun --cpu-bind=ldoms"});
}

constexpr double kLeastMemoryOfRank = 1.0e9;  // LibTorch alone takes some 300 MB
// MPI has a segment of each rank there, NCCL has buffers per pair of GPUs. Containers have 64 MB by default.
constexpr double kLeastShared = 256e6;
constexpr double kSharedOfRank = 16e6;
constexpr double kLeastTemporary = 64e6;
constexpr std::uint64_t kThreadsOfRank = 64;  // beside those that doctor has, with a trainer's
constexpr std::uint64_t kLeastThreadsOfRank = 12;
constexpr std::uint64_t kFilesOfRank = 2;   // TCP connections from and to another rank
constexpr std::uint64_t kOtherFiles = 200;  // libraries, the run folder, storage

/// @pre the free memory is known
double usable_bytes(const machine::NodeLimits& limits) {
  return static_cast<double>(
      std::min(*limits.memory_free_bytes, limits.memory_bytes.value_or(*limits.memory_free_bytes)));
}

}  // namespace

Finding check_launcher(comm::Environment& environment) {
  const std::string text = environment.describe();
  if (environment.world().size() == 1) {
    return {Verdict::kGood, "launcher", text, "start with mpirun or srun to check all ranks of a job"};
  }
  if (!environment.threads_may_communicate()) {
    return {Verdict::kWarning, "launcher", text + "; its MPI lets one thread communicate only",
            "groups of several ranks need an MPI library with MPI_THREAD_MULTIPLE"};
  }
  return {Verdict::kGood, "launcher", text + "; its threads may communicate (MPI_THREAD_MULTIPLE)", ""};
}

std::optional<Finding> check_time_left(const comm::Launch& launch, double unix_now_s) {
  const std::optional<double> left_s = comm::seconds_left(launch, unix_now_s);
  if (!left_s) {
    if (launch.batch == comm::BatchSystem::kNone && !launch.job_end) return std::nullopt;
    return Finding{Verdict::kNote, "time",
                   launch.job_end ? "SLURM_JOB_END_TIME is no time in the future: " + *launch.job_end
                                  : "the batch system does not tell when the job ends",
                   "set run.time_limit, so that a search saves its state before the end"};
  }
  const std::string text = with_unit(*left_s / 60, "minutes") + " left of the job";
  return Finding{*left_s < kShortTime_s ? Verdict::kWarning : Verdict::kGood, "time", text,
                 *left_s < kShortTime_s ? "ask for more: a search stops a minute before the end" : ""};
}

Finding judge_cores(const comm::NodePlace& place, int threads, comm::Launcher launcher) {
  const std::size_t cores = place.processors.size();
  const auto wanted = static_cast<std::size_t>(threads);
  const std::string has =
      "a rank has " + counted(cores, "core") + (place.sharing_ranks == 0 ? " to itself" : "");
  if (cores < wanted) {
    return {Verdict::kWarning, kCores, has + ", training.threads asks for " + std::to_string(threads),
            more_cores(wanted, launcher) + "; or fewer ranks a node"};
  }
  return {Verdict::kGood, kCores,
          has + ": " + counted(cores / wanted, "slot") + " of " + counted(wanted, "thread"), ""};
}

std::vector<Finding> judge_node_cores(const comm::NodePlace& place, const machine::NodeLimits& limits,
                                      comm::Launcher launcher) {
  std::vector<Finding> findings;
  judge_sharing(place, findings);
  judge_unused(place, limits, launcher, findings);
  judge_quota(place, limits, findings);
  judge_numa(place, limits, findings);
  return findings;
}

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

std::optional<Finding> judge_temporary_folder(const std::filesystem::path& folder,
                                              std::optional<std::uint64_t> free_bytes,
                                              const std::string& problem) {
  constexpr const char* kSubject = "temporary files";
  const std::string advice = "free some space, or set TMPDIR to another folder of the node";
  if (!problem.empty()) {
    return Finding{Verdict::kProblem, kSubject,
                   folder.string() + ": no file can be written there: " + problem,
                   "mpirun, MPI and trainers keep files there, and cannot start: " + advice};
  }
  if (free_bytes && static_cast<double>(*free_bytes) >= kLeastTemporary) return std::nullopt;
  return Finding{
      Verdict::kWarning, kSubject,
      folder.string() +
          (free_bytes ? ": " + with_unit(static_cast<double>(*free_bytes) / kMegabyte, "MB") + " are free"
                      : ": no folder that can be used"),
      "MPI keeps files there, and mpirun may hang without room: " + advice};
}

std::optional<Finding> judge_processes(int ranks_of_node, const std::optional<ProcessLimit>& limit) {
  if (!limit) return std::nullopt;
  const auto ranks = static_cast<std::uint64_t>(ranks_of_node);
  const std::uint64_t left = limit->left();
  if (left >= ranks * kThreadsOfRank) return std::nullopt;
  const bool cannot_start = left < ranks * kLeastThreadsOfRank;
  return Finding{cannot_start ? Verdict::kProblem : Verdict::kWarning, "processes",
                 "the control group grants " + std::to_string(limit->most) +
                     " processes and threads (pids.max), and " + std::to_string(limit->used) + " are in use",
                 std::string(cannot_start ? "a search cannot start: " : "") +
                     "a rank has some 12 threads, a trainer its own: podman --pids-limit, docker "
                     "--pids-limit, podPidsLimit of Kubernetes, TasksMax of systemd"};
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
