#include "store/publish/folder_check.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/system/process.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/temporary_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <sstream>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace skyline::store {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSmallFiles = 9;
constexpr std::size_t kSmallBytes = 4096;
constexpr std::size_t kLargeBytes = std::size_t{32} << 20;

double difference_s(const timespec& later, const timespec& earlier) {
  return static_cast<double>(later.tv_sec - earlier.tv_sec) +
         1e-9 * static_cast<double>(later.tv_nsec - earlier.tv_nsec);
}

/// Replaces \040 and the like, which mean blanks in mountinfo.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool is_below(const std::filesystem::path& path, const std::filesystem::path& mount) {
  const auto [end, rest] = std::mismatch(mount.begin(), mount.end(), path.begin(), path.end());
  return end == mount.end() || (std::next(end) == mount.end() && end->empty());
}

/// Returns the blocks that this user may fill: some file systems keep a part for root.
fsblkcnt_t free_blocks(const struct statvfs& space) {
  return ::geteuid() == 0 ? space.f_bfree : space.f_bavail;
}

/// Tries system calls without retries, because the check should show what a run would wait for.
class Probe {
 public:
  /// Names are unique, because all nodes of a job try the folder at once.
  explicit Probe(const std::filesystem::path& folder)
      : file_(folder / (".skyline-doctor." + host_name() + "." + std::to_string(::getpid()))) {}
  ~Probe() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  void publish_small_files(FolderCheck& check) {
    const std::vector<std::byte> bytes(kSmallBytes, std::byte{7});
    std::vector<double> times;
    for (int i = 0; i < kSmallFiles; ++i) {
      const Clock::time_point start = Clock::now();
      TemporaryFile file(file_);
      if (const Fault fault = file.make({bytes})) return refuse(check, fault);
      timespec now{};
      ::clock_gettime(CLOCK_REALTIME, &now);
      check.clock_ahead_s = difference_s(file.written_at(), now);
      if (const Fault fault = file.replace_target()) return refuse(check, fault);
      times.push_back(seconds_since(start));
    }
    std::ranges::nth_element(times, times.begin() + kSmallFiles / 2);
    check.publish_s = times[kSmallFiles / 2];
    if (read_file(file_) != std::string(kSmallBytes, '\7')) {
      check.refused.push_back({"read", "other bytes than were written"});
    }
  }

  void publish_large_file(FolderCheck& check) {
    const std::vector<std::byte> bytes(kLargeBytes, std::byte{9});
    TemporaryFile file(file_);
    const Clock::time_point start = Clock::now();
    if (const Fault fault = file.make({bytes})) return refuse(check, fault);
    const Clock::time_point written = Clock::now();
    check.write_bytes_per_s = static_cast<double>(kLargeBytes) / seconds_since(start);
    if (const Fault fault = file.replace_target()) return refuse(check, fault);
    check.rename_s = seconds_since(written);
  }

  /// Claims a name as a job claims its folder; of several processes that try, one gets it.
  void claim_once(FolderCheck& check) {
    std::filesystem::path name = file_;
    name += ".claim";
    TemporaryFile file(name);
    const std::vector<std::byte> bytes(kSmallBytes, std::byte{7});
    Fault fault = file.make({bytes});
    if (!fault) fault = file.become_target();
    std::error_code ignored;
    std::filesystem::remove(name, ignored);
    if (fault) refuse(check, fault);
  }

  void try_lock(FolderCheck& check) {
    const FileDescriptor file = open_file(file_, O_RDONLY);
    check.has_locks = file.get() >= 0 && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
  }

 private:
  static void refuse(FolderCheck& check, const Fault& fault) {
    const std::string call = fault.call.empty() ? "making a file" : std::string(fault.call);
    check.refused.push_back({call, system_error_text(fault.error)});
  }

  std::filesystem::path file_;
};

/// The kernel shows this owner for files of users that this container does not know, as a rule root.
constexpr uid_t kUnknownUser = 65534;

/// Checks the folder above. One that belongs to this user may be open to a group, as some systems make all
/// folders.
std::optional<std::string> find_objection_to_parent(const std::filesystem::path& folder) {
  const std::filesystem::path parent = folder.has_parent_path() ? folder.parent_path() : ".";
  struct stat status {};
  if (::stat(parent.c_str(), &status) != 0) return system_error_text(errno);
  const bool is_systems = status.st_uid == 0 || status.st_uid == kUnknownUser;
  if (status.st_uid != ::geteuid() && !is_systems) {
    return "others may put another folder in its place: " + parent.string() + " belongs to another user";
  }
  const mode_t open = status.st_uid == ::geteuid() ? S_IWOTH : S_IWGRP | S_IWOTH;
  if ((status.st_mode & open) == 0 || (status.st_mode & S_ISVTX) != 0) return std::nullopt;
  return "others may put another folder in its place: " + parent.string() +
         " is writable for them and has no sticky bit";
}

}  // namespace

FolderCheck try_folder(const std::filesystem::path& folder) {
  FolderCheck check;
  std::error_code failure;
  const std::filesystem::path absolute = std::filesystem::canonical(folder, failure);
  if (failure) {
    check.refused.push_back({"finding its way", failure.message()});
    return check;
  }
  check.kind = file_system_of(absolute, read_file("/proc/self/mountinfo"));
  check.free_bytes = room_in(folder).free_bytes;
  Probe probe(folder);
  try {
    probe.publish_small_files(check);
    if (check.refused.empty()) probe.publish_large_file(check);
    if (check.refused.empty()) probe.claim_once(check);
    if (check.refused.empty()) probe.try_lock(check);
  } catch (const Problem& error) {  // e.g. there is no permission to make a file
    check.refused.push_back({"open", error.what()});
  }
  return check;
}

FolderRoom room_in(const std::filesystem::path& folder) {
  const IoOperation operation("look for room in", folder);
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0) return {};
  return {std::uint64_t{free_blocks(space)} * space.f_frsize, std::uint64_t{space.f_blocks} * space.f_frsize,
          space.f_favail, space.f_files};
}

Fault find_storage_fault(const std::filesystem::path& folder) {
  const IoOperation operation("look for room in", folder);
  constexpr std::array kOfPaths{ENOENT, ENOTDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG};
  const auto fault_of = [&](std::string_view call, int error) -> Fault {
    return std::ranges::find(kOfPaths, error) == kOfPaths.end() ? Fault{call, error} : Fault{};
  };
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0) return fault_of("statvfs", errno);
  const bool is_full = space.f_blocks > 0 && free_blocks(space) == 0;  // some file systems count nothing
  const bool has_no_files = space.f_files > 0 && space.f_favail == 0;
  if (is_full || has_no_files) return {"statvfs", ENOSPC};
  try {
    TemporaryFile file(folder / ".skyline-look");
    const std::vector<std::byte> bytes(kSmallBytes, std::byte{7});
    const Fault fault = file.make({bytes});
    return fault_of(fault.call, fault.error);
  } catch (const UserError&) {  // the folder is gone
    return {};
  }
}

std::string file_system_of(const std::filesystem::path& absolute, std::string_view mounts) {
  std::istringstream lines{std::string(mounts)};
  std::string kind;
  std::filesystem::path deepest;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped;
    std::string mount;
    words >> skipped >> skipped >> skipped >> skipped >> mount;
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::filesystem::path point = unescaped(mount);
    // The last of several equal mount points is on top.
    if (!is_below(absolute, point) || point.native().size() < deepest.native().size()) continue;
    deepest = point;
    kind = line.substr(dash + 3, line.find(' ', dash + 3) - dash - 3);
  }
  return kind;
}

std::optional<std::string> make_private_folder(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return system_error_text(errno);
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return system_error_text(errno);
  if (!S_ISDIR(status.st_mode)) return "not a folder";
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) return "others may use it";
  return find_objection_to_parent(folder);
}

}  // namespace skyline::store
