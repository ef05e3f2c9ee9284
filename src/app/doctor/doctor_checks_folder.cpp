#include "skyline/core/error.hpp"

#include "app/doctor/doctor_checks.hpp"
#include "comm/agreement.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <system_error>
#include <thread>

namespace skyline::app {
namespace {

constexpr const char* kRunFolder = "run folder";
constexpr double kLeastFree = 1.0e9;
constexpr double kSlowPublish_s = 0.1;
constexpr double kSlowWrite = 20e6;  // bytes per second
// A rename only writes a name, whatever the size of the file. Copying the 32 MB takes longer.
constexpr double kSlowRename_s = 0.2;
constexpr double kRenameToPublish = 5;
constexpr double kMostClockSkew_s = 5;  // a claim is stale after 60 s
// An NFS client may look at a folder again only after its attribute cache has expired.
constexpr std::chrono::seconds kMostCacheAge{35};

/// Judges the kind of file system. A trial shows the result of a call, not what a power cut leaves.
void judge_kind(const std::string& name, const std::string& kind, std::vector<Finding>& findings) {
  if (kind == "tmpfs" || kind == "ramfs") {
    findings.push_back(
        {Verdict::kWarning, kRunFolder, name + ": lies in memory (" + kind + ")",
         "a restart of the node loses the run, and other nodes do not see it: use a disk or NFS"});
  } else if (kind.find("blobfuse") != std::string::npos) {
    findings.push_back(
        {Verdict::kWarning, kRunFolder, name + ": is an Azure blob mount (" + kind + ")",
         "files are uploaded when they are closed, and renamed by copying: a job that is killed can "
         "leave half a journal. Use NFS or a local disk, and copy the results at the end"});
  } else if (kind.starts_with("fuse")) {
    findings.push_back(
        {Verdict::kWarning, kRunFolder, name + ": is a FUSE mount (" + kind + ")",
         "whether its fsync reaches a disk cannot be seen from here, and mounts of object stores (s3fs, "
         "gcsfuse) rename by copying: use a disk or NFS unless this one is known to be sound"});
  } else if (kind == "overlay" || kind == "aufs") {
    findings.push_back(
        {Verdict::kWarning, kRunFolder, name + ": is inside the container (" + kind + ")",
         "it goes with the container: mount a folder of the host or NFS (docker -v, apptainer --bind)"});
  }
}

void judge_speed(const std::string& name, const store::FolderCheck& check, std::vector<Finding>& findings) {
  if (check.publish_s > kSlowPublish_s || check.write_bytes_per_s < kSlowWrite) {
    findings.push_back({Verdict::kWarning, "run folder speed",
                        "publishing a small file takes " + with_coarse_unit(1e3 * check.publish_s, "ms") +
                            " and more, writes run at " +
                            with_coarse_unit(check.write_bytes_per_s / 1e6, "MB/s"),
                        "checkpoint.interval grows by itself; search.* trials shorter than a second will "
                        "wait for the journal"});
  }
  if (check.rename_s > kSlowRename_s && check.rename_s > kRenameToPublish * check.publish_s) {
    findings.push_back({Verdict::kWarning, kRunFolder,
                        name + ": renaming a file of 32 MB takes " + with_coarse_unit(check.rename_s, "s") +
                            " and more, as if it were copied",
                        "a job that is killed in between can leave half a file: use a disk, NFS or Lustre"});
  }
}

/// Returns how old the view of a folder may be. On disks and memory of this node it is never old.
std::chrono::seconds cache_age(const std::string& kind) {
  constexpr std::array<std::string_view, 6> kOfThisNode{"ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay"};
  return std::ranges::find(kOfThisNode, kind) == kOfThisNode.end() ? kMostCacheAge : std::chrono::seconds{0};
}

/// Checks whether the file appears here in time. If this node cannot even look, that is a separate finding.
Finding wait_for_marker(const std::filesystem::path& marker, const std::filesystem::path& folder,
                        std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    std::string problem = folder.string() + ": does not show what rank 0 wrote there";
    try {
      if (store::exists(marker))
        return {Verdict::kGood, kRunFolder, folder.string() + ": seen by all nodes", ""};
    } catch (const Problem& error) {
      problem = folder.string() + ": is not as on rank 0's node: " + error.what();
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return {Verdict::kProblem, kRunFolder, problem,
              "all nodes must see the same folder: use one on NFS or the like"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

/// Checks that every node sees, some time later, what rank 0 has written. Collective.
void check_shared(comm::Environment& environment, const std::filesystem::path& folder,
                  std::chrono::seconds patience, std::vector<Finding>& findings) {
  comm::Communicator& world = environment.world();
  if (environment.place().node_count == 1) return;
  const bool first_of_node = environment.place().local_rank == 0;
  const std::filesystem::path marker = folder / ".skyline-doctor-shared";
  bool written = false;
  if (world.rank() == comm::kCoordinator) {
    try {
      store::publish_file(marker, "seen");
      written = true;
    } catch (const Problem&) {  // trying the folder has already reported the reason
    }
  }
  if (!comm::share(world, written)) return;
  if (first_of_node) findings.push_back(wait_for_marker(marker, folder, patience));
  comm::wait(*world.barrier());
  if (world.rank() != comm::kCoordinator) return;
  try {
    store::remove_file(marker);
  } catch (const Problem& error) {
    findings.push_back({Verdict::kWarning, kRunFolder, error.what(), ""});
  }
}

}  // namespace

std::vector<Finding> judge_folder(const std::filesystem::path& folder, const store::FolderCheck& check) {
  const std::string name = folder.string();
  const std::string kind = check.kind.empty() ? "an unknown file system" : check.kind;
  std::vector<Finding> findings;
  for (const store::RefusedCall& refused : check.refused) {
    findings.push_back({Verdict::kProblem, kRunFolder,
                        name + ": " + kind + " refused " + refused.call + ": " + refused.reason,
                        "a run needs a file system with working rename and fsync and free space: a local "
                        "disk, NFS, Lustre"});
  }
  if (!findings.empty()) return findings;
  findings.push_back({Verdict::kGood, kRunFolder,
                      name + ": " + kind + ", more than " +
                          with_coarse_unit(static_cast<double>(check.free_bytes) / kGigabyte, "GB") +
                          " free" + (check.has_locks ? "" : ", without file locks (none are needed)"),
                      ""});
  judge_kind(name, check.kind, findings);
  if (static_cast<double>(check.free_bytes) < kLeastFree) {
    findings.push_back({Verdict::kWarning, kRunFolder, name + ": less than 1 GB is free", "free some space"});
  }
  judge_speed(name, check, findings);
  if (std::abs(check.clock_ahead_s) > kMostClockSkew_s) {
    findings.push_back({Verdict::kWarning, "clock",
                        "the file server's clock differs from this host's by " +
                            with_unit(std::abs(check.clock_ahead_s), "s"),
                        "synchronize the clocks (NTP): a claim on a run folder is judged by them"});
  }
  return findings;
}

void check_folder(comm::Environment& environment, const std::filesystem::path& folder,
                  std::vector<Finding>& findings) {
  std::chrono::seconds patience = kMostCacheAge;
  if (environment.place().local_rank == 0) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      findings.push_back({Verdict::kProblem, kRunFolder,
                          folder.string() + ": cannot be made: " + error.message(),
                          "choose a folder that you may write to"});
    } else {
      const store::FolderCheck check = store::try_folder(folder);
      patience = cache_age(check.kind);
      const std::vector<Finding> judged = judge_folder(folder, check);
      findings.insert(findings.end(), judged.begin(), judged.end());
    }
  }
  comm::wait(*environment.world().barrier());
  check_shared(environment, folder, patience, findings);
}

}  // namespace skyline::app
