#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// A system call that a folder's file system refused.
struct RefusedCall {
  std::string call;    // "fsync"
  std::string reason;  // "No space left on device"
};

/// What a folder's file system can do, as a trial of it has shown.
struct FolderCheck {
  std::string kind;  // "ext4", "nfs4", "fuse.sshfs"; empty: unknown
  std::uint64_t free_bytes = 0;
  std::vector<RefusedCall> refused;  // of what publishing a file needs
  bool has_locks = false;            // flock; a run needs none
  double publish_s = 0;              // a small file, published whole; median
  double write_bytes_per_s = 0;      // of a large file, with fsync
  double rename_s = 0;               // of the large file
  double clock_ahead_s = 0;          // the file system's clock against this host's
};

/// Publishes files as a run does, some small and a large one, and removes them. The folder must exist; what
/// it refuses is in the result, after which nothing more is tried.
FolderCheck try_folder(const std::filesystem::path& folder);

/// The type of the file system that a path is on, by the text of /proc/self/mountinfo; empty: unknown.
std::string file_system_of(const std::filesystem::path& absolute, std::string_view mounts);

}  // namespace skyline::store
