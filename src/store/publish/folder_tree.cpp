#include "store/publish/folder_tree.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/may_block.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/retry_policy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLevels = 100;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kCopyBytes = std::size_t{64} << 20U;
constexpr std::size_t kCopyPieceBytes = std::size_t{1} << 20U;
constexpr mode_t kPermissions = S_IRWXU | S_IRWXG | S_IRWXO;

/// What is done to a tree, for messages.
struct TreeTask {
  std::string_view name;
  const fs::path& folder;
};

/// A fault that ends an attempt at a task.
struct TreeFault {
  Fault fault;
};

[[noreturn]] void fail(std::string_view call, int error) {
  throw TreeFault{{call, error}};
}

void check(bool succeeded, std::string_view call) {
  if (!succeeded) fail(call, errno);
}

/// Does a task, and begins it anew after a fault that may pass.
template <typename Work>
std::invoke_result_t<Work> patiently_do(const TreeTask& task, Work work) {
  RetryPolicy patience(task.name, task.folder);
  while (true) {
    try {
      const auto result = work();
      patience.done();
      return result;
    } catch (const TreeFault& met) {
      patience.on_fault(met.fault);
    }
  }
}

struct TreeEntry {
  std::string name;
  struct stat status {};

  bool is_folder() const { return S_ISDIR(status.st_mode); }
  bool is_file() const { return S_ISREG(status.st_mode); }
};

/// Opens a folder, but no link to one. Returns null and sets errno if it fails.
FileDescriptor open_folder_at(int parent, const std::string& name) {
  return FileDescriptor(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

FileDescriptor open_top(const fs::path& path) {
  may_block("wait for a file");
  FileDescriptor folder = open_folder_at(AT_FDCWD, path.string());
  check(static_cast<bool>(folder), "open");
  return folder;
}

struct stat status_of(const FileDescriptor& file) {
  struct stat status {};
  check(::fstat(file.get(), &status) == 0, "fstat");
  return status;
}

/// Returns entries of a folder, at most `most`, in no order. Those that vanish meanwhile are left out.
std::vector<TreeEntry> tree_entries(const FileDescriptor& folder, std::size_t most = kNoLimit) {
  // A descriptor of its own, since reading moves a place that a duplicate would share.
  FileDescriptor own = open_folder_at(folder.get(), ".");
  check(static_cast<bool>(own), "open");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  check(stream != nullptr, "fdopendir");
  (void)own.release();
  std::vector<TreeEntry> entries;
  while (entries.size() < most) {
    errno = 0;
    const dirent* const next = ::readdir(stream.get());
    if (next == nullptr) {
      check(errno == 0, "readdir");
      break;
    }
    TreeEntry entry{next->d_name};
    if (entry.name == "." || entry.name == "..") continue;
    const bool is_there =
        ::fstatat(folder.get(), entry.name.c_str(), &entry.status, AT_SYMLINK_NOFOLLOW) == 0;
    check(is_there || errno == ENOENT, "fstatat");
    if (is_there) entries.push_back(std::move(entry));
  }
  IoOperation::advance();
  return entries;
}

/// Visits a folder's entries, and those of the folders below it before each of these. It stops as soon as
/// `visit` returns false, and returns that.
using VisitEntry = std::function<bool(const FileDescriptor& folder, const TreeEntry& entry)>;
bool visit_tree(const TreeTask& task, const FileDescriptor& folder, const VisitEntry& visit, int depth = 0) {
  if (depth == kMostLevels) {
    throw UserError("cannot " + std::string(task.name) + " " + task.folder.string() + ": it has folders " +
                    std::to_string(kMostLevels) + " levels deep");
  }
  const dev_t device = status_of(folder).st_dev;
  for (const TreeEntry& entry : tree_entries(folder)) {
    if (entry.is_folder() && entry.status.st_dev == device) {
      const FileDescriptor below = open_folder_at(folder.get(), entry.name);
      check(below || errno == ENOENT, "openat");
      if (below && !visit_tree(task, below, visit, depth + 1)) return false;
    }
    if (!visit(folder, entry)) return false;
  }
  return true;
}

/// Returns whether syncfs returns the errors of earlier writes, as Linux does since 5.8.
bool syncfs_tells_faults() {
  struct utsname system {};
  int major = 0;
  int minor = 0;
  ::uname(&system);
  return std::sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
         std::pair(major, minor) >= std::pair(5, 8);
}

/// Makes the files and folders of a tree durable: one by one, or all at once if there are many.
class TreeSync {
 public:
  explicit TreeSync(const fs::path& tree) : tree_(tree) {}
  void add(const FileDescriptor& file) {
    if (++count_ <= most_) check_sync("fsync", sync_file(file));
  }
  /// @param top  the tree's own folder, after everything in it
  void end(const FileDescriptor& top) {
    add(top);
    if (count_ <= most_) return;
    log::info(tree_.string() + ": " + std::to_string(count_) + " files are made durable at once");
    check_sync("syncfs", ::syncfs(top.get()) == 0 ? 0 : errno);
  }

 private:
  static constexpr std::size_t kMostSyncs = 300;

  static void check_sync(std::string_view call, int error) {
    if (error != 0 && error != EINVAL && error != ENOTSUP) fail(call, error);
    IoOperation::advance();
  }

  const fs::path& tree_;
  const std::size_t most_ = syncfs_tells_faults() ? kMostSyncs : kNoLimit;
  std::size_t count_ = 0;
};

FileDescriptor open_file_at(const FileDescriptor& folder, const std::string& name, int flags) {
  FileDescriptor file(
      ::openat(folder.get(), name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR));
  check(static_cast<bool>(file), "openat");
  return file;
}

/// Copies the next bytes of a file by reading and writing, at most so many. Returns how many; 0 at its end.
ssize_t copy_piece(const FileDescriptor& from, const FileDescriptor& to, std::size_t most) {
  std::vector<std::byte> piece(std::min(most, kCopyPieceBytes));
  ssize_t count = 0;
  do {
    count = ::read(from.get(), piece.data(), piece.size());
  } while (count < 0 && errno == EINTR);
  check(count >= 0, "read");
  for (ssize_t done = 0; done < count;) {
    const ssize_t written = ::write(to.get(), piece.data() + done, static_cast<std::size_t>(count - done));
    check(written >= 0 || errno == EINTR, "write");
    done += std::max<ssize_t>(written, 0);
  }
  return count;
}

bool copy_file(const FileDescriptor& from_folder, const FileDescriptor& to_folder, const TreeEntry& entry,
               TreeSync& sync, const std::function<bool()>& stop) {
  const FileDescriptor from = open_file_at(from_folder, entry.name, O_RDONLY);
  FileDescriptor to = open_file_at(to_folder, entry.name, O_WRONLY | O_CREAT | O_EXCL);
  const auto size = static_cast<std::size_t>(entry.status.st_size);
  bool is_shared = true;  // whether the file system makes the copy; one that cannot says so at once
  for (std::size_t left = size; left > 0;) {
    if (stop()) return false;
    const std::size_t most = std::min(left, kCopyBytes);
    const ssize_t count = is_shared ? ::copy_file_range(from.get(), nullptr, to.get(), nullptr, most, 0)
                                    : copy_piece(from, to, most);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 && is_shared && left == size) {
      is_shared = false;
      continue;
    }
    if (count == 0) fail("read", EIO);  // it is shorter now
    check(count > 0, "copy_file_range");
    left -= static_cast<std::size_t>(count);
    IoOperation::advance();
  }
  const std::array<timespec, 2> times{entry.status.st_atim, entry.status.st_mtim};
  check(::fchmod(to.get(), entry.status.st_mode & kPermissions) == 0, "fchmod");
  check(::futimens(to.get(), times.data()) == 0, "futimens");
  sync.add(to);
  if (const int error = close_file(std::move(to)); error != 0) fail("close", error);
  return true;
}

void copy_link(const FileDescriptor& from, const FileDescriptor& to, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(from.get(), name.c_str(), target.data(), target.size());
  check(length >= 0, "readlinkat");
  target.resize(static_cast<std::size_t>(length));
  check(::symlinkat(target.c_str(), to.get(), name.c_str()) == 0, "symlinkat");
}

bool copy_entries(const FileDescriptor& from, const FileDescriptor& to, TreeSync& sync,
                  const std::function<bool()>& stop, int depth = 0) {
  require(depth < kMostLevels, "a folder is copied that is too deep");  // tree_bytes has refused it
  const dev_t device = status_of(from).st_dev;
  for (const TreeEntry& entry : tree_entries(from)) {
    if (stop()) return false;
    if (entry.is_file() && !copy_file(from, to, entry, sync, stop)) return false;
    if (S_ISLNK(entry.status.st_mode)) copy_link(from, to, entry.name);
    if (!entry.is_folder() || entry.status.st_dev != device) continue;
    check(::mkdirat(to.get(), entry.name.c_str(), S_IRWXU) == 0, "mkdirat");
    const FileDescriptor from_below = open_folder_at(from.get(), entry.name);
    const FileDescriptor to_below = open_folder_at(to.get(), entry.name);
    check(from_below && to_below, "openat");
    if (!copy_entries(from_below, to_below, sync, stop, depth + 1)) return false;
    sync.add(to_below);
  }
  return true;
}

/// Lets its owner change a folder, which may be read-only. Where that fails, the next call on the folder
/// tells why.
void open_to_owner(const FileDescriptor& parent, const std::string& name) {
  [[maybe_unused]] const int result = ::fchmodat(parent.get(), name.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW);
}

/// Removes a folder below `top`, or moves what is below that into `top`, at most `most` names. Returns how
/// many that were.
std::size_t flatten(const TreeTask& task, const FileDescriptor& top, const TreeEntry& folder, dev_t device,
                    std::size_t most) {
  if (folder.status.st_dev != device) fail_system(task.name, task.folder, folder.name, EXDEV);
  open_to_owner(top, folder.name);
  const FileDescriptor open = open_folder_at(top.get(), folder.name);
  check(static_cast<bool>(open), "openat");
  const std::vector<TreeEntry> entries = tree_entries(open, most);
  for (const TreeEntry& entry : entries) {
    if (entry.is_folder()) {
      // The name of its parent is written into a folder that moves: a read-only one could not.
      open_to_owner(open, entry.name);
      const std::string moved = "removed." + std::to_string(entry.status.st_ino);
      check(::renameat(open.get(), entry.name.c_str(), top.get(), moved.c_str()) == 0, "renameat");
    } else {
      check(::unlinkat(open.get(), entry.name.c_str(), 0) == 0 || errno == ENOENT, "unlinkat");
    }
  }
  if (entries.size() == most) return most;
  check(::unlinkat(top.get(), folder.name.c_str(), AT_REMOVEDIR) == 0, "rmdir");
  return entries.size() + 1;
}

bool remove_some(const TreeTask& task, std::size_t most) {
  const fs::path& folder = task.folder;
  may_block("wait for a file");
  const FileDescriptor top = open_folder_at(AT_FDCWD, folder.string());
  if (!top && errno == ENOENT) return true;
  if (!top && (errno == ELOOP || errno == ENOTDIR)) {
    check(::unlink(folder.c_str()) == 0 || errno == ENOENT, "unlink");
    return true;
  }
  check(static_cast<bool>(top), "open");
  (void)::fchmod(top.get(), S_IRWXU);
  const dev_t device = status_of(top).st_dev;
  for (std::size_t removed = 0; removed < most;) {
    const std::vector<TreeEntry> entries = tree_entries(top, most - removed);
    for (const TreeEntry& entry : entries) {
      if (removed >= most) return false;
      if (entry.is_folder()) {
        removed += flatten(task, top, entry, device, most - removed);
      } else {
        check(::unlinkat(top.get(), entry.name.c_str(), 0) == 0 || errno == ENOENT, "unlinkat");
        ++removed;
      }
    }
    if (!entries.empty()) continue;
    check(::rmdir(folder.c_str()) == 0 || errno == ENOENT, "rmdir");
    return true;
  }
  return false;
}

}  // namespace

std::uint64_t tree_bytes(const fs::path& folder, std::uint64_t most) {
  const TreeTask task{"look at", folder};
  return patiently_do(task, [&] {
    std::uint64_t bytes = 0;
    visit_tree(task, open_top(folder), [&](const FileDescriptor& /*folder*/, const TreeEntry& entry) {
      if (entry.is_file()) bytes += static_cast<std::uint64_t>(entry.status.st_size);
      return bytes <= most;
    });
    return bytes;
  });
}

bool is_empty_folder(const fs::path& folder) {
  return patiently_do({"look at", folder}, [&] { return tree_entries(open_top(folder), 1).empty(); });
}

void sync_tree(const fs::path& folder) {
  const TreeTask task{"write", folder};
  patiently_do(task, [&] {
    TreeSync sync(folder);
    const FileDescriptor top = open_top(folder);
    visit_tree(task, top, [&](const FileDescriptor& above, const TreeEntry& entry) {
      if (entry.is_file()) sync.add(open_file_at(above, entry.name, O_RDONLY));
      if (entry.is_folder()) {
        const FileDescriptor below = open_folder_at(above.get(), entry.name);
        if (below) sync.add(below);
      }
      return true;
    });
    sync.end(top);
    return true;
  });
}

bool copy_tree(const fs::path& from, const fs::path& to, const std::function<bool()>& stop) {
  bool is_begun = false;  // whether a failed attempt has begun the copy
  return patiently_do({"copy", from}, [&] {
    const FileDescriptor source = open_top(from);
    if (is_begun) (void)remove_some({"remove", to}, kNoLimit);
    check(::mkdir(to.c_str(), S_IRWXU) == 0, "mkdir");
    is_begun = true;
    TreeSync sync(to);
    const FileDescriptor target = open_top(to);
    if (!copy_entries(source, target, sync, stop)) return false;
    sync.end(target);
    return true;
  });
}

void remove_tree(const fs::path& folder) {
  const TreeTask task{"remove", folder};
  patiently_do(task, [&] { return remove_some(task, kNoLimit); });
}

bool remove_tree(const fs::path& folder, std::size_t most) {
  const TreeTask task{"remove", folder};
  const IoOperation operation(task.name, folder);
  try {
    return remove_some(task, most);
  } catch (const TreeFault& met) {
    fail_system(task.name, folder, met.fault.call, met.fault.error);
  }
}

}  // namespace skyline::store
