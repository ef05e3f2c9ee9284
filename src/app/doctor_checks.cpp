#include "app/doctor_checks.hpp"

#include "skyline/store/publish.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace skyline::app {
namespace {

constexpr double kGigabyte = 1e9;
constexpr double kLeastMemoryOfRank = 1.0e9;  // LibTorch alone takes some 300 MB
constexpr double kLeastFree = 1.0e9;
constexpr double kSlowPublish_s = 0.1;
constexpr double kSlowWrite = 20e6;     // bytes a second
constexpr double kMostClockSkew_s = 5;  // a claim is stale after 60 s
constexpr double kShortTime_s = 600;

std::string with_unit(double value, const char* unit) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), value < 10 ? "%.2g %s" : "%.0f %s", value, unit);
  return text.data();
}

std::string counted(std::size_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

/// "MemAvailable:   1234 kB" of /proc/meminfo, in bytes; 0: not there.
double meminfo_bytes(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key + ":")) return 1024 * std::stod(line.substr(key.size() + 1));
  }
  return 0;
}

bool is_in_memory(const std::string& kind) {
  return kind == "tmpfs" || kind == "ramfs";
}

}  // namespace

Finding check_mpi(comm::Environment& environment) {
  const std::string text = environment.describe();
  if (environment.world().size() == 1) {
    return {Verdict::kGood, "launcher", text, "start with mpirun or srun to check all ranks of a job"};
  }
  if (!environment.threads_may_communicate()) {
    return {Verdict::kWarning, "launcher", text + "; its MPI lets one thread communicate only",
            "groups of several ranks need an MPI library with MPI_THREAD_MULTIPLE"};
  }
  return {Verdict::kGood, "launcher", text, ""};
}

Finding check_cores(const comm::NodePlace& place, int threads) {
  const std::size_t cores = place.processors.size();
  const auto wanted = static_cast<std::size_t>(threads);
  const std::string has = "a rank has " + counted(cores, "core") + " to itself";
  if (cores < wanted) {
    return {Verdict::kWarning, "cores", has + ", training.threads asks for " + std::to_string(threads),
            "mpirun --map-by slot:PE=" + std::to_string(threads) + " --bind-to core, srun --cpus-per-task=" +
                std::to_string(threads) + ", or fewer ranks a node"};
  }
  return {Verdict::kGood, "cores",
          has + ": " + counted(cores / wanted, "slot") + " of " + counted(wanted, "thread"), ""};
}

Finding check_memory(const comm::NodePlace& place) {
  const double available = meminfo_bytes(store::read_file("/proc/meminfo"), "MemAvailable");
  const double share = available / place.local_size;
  const std::string text = with_unit(available / kGigabyte, "GB") + " free for " +
                           counted(static_cast<std::size_t>(place.local_size), "rank");
  if (share < kLeastMemoryOfRank) {
    return {Verdict::kWarning, "memory", text,
            "start fewer ranks a node: each needs about 1 GB and its networks'"};
  }
  return {Verdict::kGood, "memory", text, ""};
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

std::vector<Finding> judge_folder(const std::filesystem::path& folder, const store::FolderCheck& check) {
  const std::string name = folder.string();
  const std::string kind = check.kind.empty() ? "an unknown file system" : check.kind;
  std::vector<Finding> findings;
  for (const store::RefusedCall& refused : check.refused) {
    findings.push_back({Verdict::kProblem, "run folder",
                        name + ": " + kind + " refused " + refused.call + ": " + refused.reason,
                        "a run needs a file system with working rename and fsync and free space: a local "
                        "disk, NFS, Lustre"});
  }
  if (!findings.empty()) return findings;
  findings.push_back({Verdict::kGood, "run folder",
                      name + ": " + kind + ", " +
                          with_unit(static_cast<double>(check.free_bytes) / kGigabyte, "GB") + " free" +
                          (check.has_locks ? "" : ", without file locks (none are needed)"),
                      ""});
  if (is_in_memory(check.kind)) {
    findings.push_back(
        {Verdict::kWarning, "run folder", name + ": lies in memory (" + kind + ")",
         "a restart of the node loses the run, and other nodes do not see it: use a disk or NFS"});
  } else if (check.kind.starts_with("fuse")) {
    findings.push_back({Verdict::kWarning, "run folder", name + ": is a FUSE mount (" + kind + ")",
                        "blob mounts rename by copying and drop fsync: use a disk or NFS unless this one is "
                        "known to be sound"});
  }
  if (static_cast<double>(check.free_bytes) < kLeastFree) {
    findings.push_back(
        {Verdict::kWarning, "run folder", name + ": less than 1 GB is free", "free some space"});
  }
  if (check.publish_s > kSlowPublish_s || check.write_bytes_per_s < kSlowWrite) {
    findings.push_back({Verdict::kWarning, "run folder speed",
                        "publishing a small file takes " + with_unit(1e3 * check.publish_s, "ms") +
                            ", writes run at " + with_unit(check.write_bytes_per_s / 1e6, "MB/s"),
                        "checkpoint.interval grows by itself; search.* trials shorter than a second will "
                        "wait for the journal"});
  }
  if (std::abs(check.clock_ahead_s) > kMostClockSkew_s) {
    findings.push_back({Verdict::kWarning, "clock",
                        "the file server's clock differs from this host's by " +
                            with_unit(std::abs(check.clock_ahead_s), "s"),
                        "synchronize the clocks (NTP): a claim on a run folder is judged by them"});
  }
  return findings;
}

}  // namespace skyline::app
