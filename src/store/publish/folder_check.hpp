#pragma once

#include "store/publish/retry_policy.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// A system call that a folder's file system refused.
struct RefusedCall {
  std::string call;    // e.g. "fsync"
  std::string reason;  // e.g. "No space left on device"
};

/// Abilities of a folder's file system, found by trial.
struct FolderCheck {
  std::string kind;  // "ext4", "nfs4", "fuse.sshfs"; empty if unknown
  std::uint64_t free_bytes = 0;
  std::vector<RefusedCall> refused;  // calls that publishing a file needs
  bool has_locks = false;            // whether flock works; runs do not need it
  double publish_s = 0;              // median time of publishing a small file
  double write_bytes_per_s = 0;      // speed for a large file, with fsync
  double rename_s = 0;               // time of renaming the large file
  double clock_ahead_s = 0;          // clock of the file system minus this host's
};

/// Publishes files as a run does, some small and a large one, and removes them. The folder must exist. Stops
/// at the first refused call; the result contains it.
FolderCheck try_folder(const std::filesystem::path& folder);

/// The room of a folder's file system, for this user.
struct FolderRoom {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t free_files = 0;  // both are 0 where files are not counted
  std::uint64_t total_files = 0;
};
/// Returns the room in a folder; zeros if it is unknown. One attempt.
FolderRoom room_in(const std::filesystem::path& folder);

/// Looks whether a small file can be written in a folder now: whether its file system has room, and by such a
/// file, which tells quotas and broken storage. One attempt. Returns no fault for a folder that is missing or
/// closed to this user: that is not the storage's doing.
Fault find_storage_fault(const std::filesystem::path& folder);

/// Returns the type of the file system of a path, from the text of /proc/self/mountinfo, or an empty text.
std::string file_system_of(const std::filesystem::path& absolute, std::string_view mounts);

/// Makes the folder, for this user alone, if it is missing. Returns nullopt if it may hold copies on a node.
/// Otherwise returns why it cannot be made, or why it is not a real folder of this user that nobody else may
/// use or replace.
std::optional<std::string> make_private_folder(const std::filesystem::path& folder);

}  // namespace skyline::store
