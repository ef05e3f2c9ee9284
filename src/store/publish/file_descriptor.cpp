#include "store/publish/file_descriptor.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/system/may_block.hpp"
#include "store/publish/retry_policy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr std::string_view kListTask = "read the folder";
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

std::string_view advice(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return " (free some space and run again)";
    case EDQUOT:
      return " (the quota is used up: free some space and run again)";
    case EROFS:
    case EACCES:
    case EPERM:
      return " (choose a place that you may write to, or change its permissions)";
    case EIO:
      return " (the disk or its server has failed: see the system's log, then run again)";
    case ESTALE:
    case ETIMEDOUT:
      return " (the file server is away or has lost the file: run again when it is back)";
    default:
      return "";
  }
}

/// Errors that last until a person changes a name, a permission or a configuration.
constexpr std::array kUsersErrors{ENOENT, ENOTDIR,      EISDIR, EEXIST, EACCES, EPERM,
                                  EROFS,  ENAMETOOLONG, ELOOP,  EINVAL, ENOTSUP};

constexpr std::size_t kBlockBytes = std::size_t{1} << 20U;

/// Opens a file like open_regular_file. @throws UserError for a symbolic link
FileDescriptor open_where_it_is(const std::filesystem::path& path) {
  struct stat status {};
  FileDescriptor file = open_file(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (!file && errno == ELOOP) {
    throw UserError(path.string() +
                    ": expected a file, found a symbolic link (a file of a run is not read where a link "
                    "leads: put the file itself there)");
  }
  if (!file || (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode))) return file;
  (void)open_regular_file(path, status);  // says what it is
  errno = EISDIR;
  return {};
}

}  // namespace

FileDescriptor open_regular_file(const std::filesystem::path& path, struct stat& status) {
  FileDescriptor file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file || ::fstat(file.get(), &status) != 0) return FileDescriptor();
  if (S_ISREG(status.st_mode)) return file;
  if (!S_ISDIR(status.st_mode))
    throw UserError(path.string() + ": expected a file, found a pipe or a device");
  file.reset();
  errno = EISDIR;
  return file;
}

int write_at(const FileDescriptor& file, std::span<const std::byte> bytes, std::uint64_t offset) {
  may_block("wait for a file");
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), kPieceBytes);
    const ssize_t written = ::pwrite(file.get(), bytes.data(), piece, static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (written == 0) return EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

int sync_file(const FileDescriptor& file) {
  may_block("wait for a file");
  while (::fsync(file.get()) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int close_file(FileDescriptor file) {
  // Linux closes the descriptor even if it reports an interruption.
  return ::close(file.release()) == 0 || errno == EINTR ? 0 : errno;
}

int sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor descriptor =
      open_file(folder.empty() ? std::filesystem::path(".") : folder, O_RDONLY | O_DIRECTORY);
  if (!descriptor) return errno;
  const int error_number = sync_file(descriptor);
  return error_number == EINVAL || error_number == ENOTSUP ? 0 : error_number;
}

void fail_system(std::string_view task, const std::filesystem::path& path, std::string_view call,
                 int error_number) {
  std::string message = "cannot ";
  message.append(task).append(" ").append(path.string()).append(": ");
  if (!call.empty()) message.append(call).append(": ");
  message.append(system_error_text(error_number)).append(advice(error_number));
  if (std::ranges::find(kUsersErrors, error_number) != kUsersErrors.end()) throw UserError(message);
  throw FaultError(message);
}

std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder) {
  may_block("wait for a file");
  std::vector<std::filesystem::path> paths;
  patiently(kListTask, folder, [&]() -> Fault {
    paths.clear();
    std::error_code error;
    std::filesystem::directory_iterator entry(folder, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      paths.push_back(entry->path());
    }
    return {"", error.value()};
  });
  return paths;
}

bool BlockReader::read(std::string& text) {
  const std::size_t before = text.size();
  ssize_t count = 0;
  patiently("read", path_, [&]() -> Fault {
    if (!file_) file_ = open_where_it_is(path_);
    if (!file_) return {"", errno};
    text.resize(before + kBlockBytes);
    do {
      count = ::pread(file_.get(), text.data() + before, kBlockBytes, static_cast<off_t>(place_));
    } while (count < 0 && errno == EINTR);
    if (count >= 0) return {};
    const int error = errno;
    file_.reset();
    return {"", error};
  });
  text.resize(before + static_cast<std::size_t>(count));
  place_ += static_cast<std::uint64_t>(count);
  return count > 0;
}

std::string read_run_file(const std::filesystem::path& path) {
  std::string text;
  for (BlockReader blocks(path); blocks.read(text);) continue;
  return text;
}

ConfigNode load_run_yaml(const std::filesystem::path& path) {
  return load_yaml_text(read_run_file(path), path.string());
}

}  // namespace skyline::store
