#include "core/system/open_file.hpp"

#include "skyline/core/error.hpp"

#include "core/system/may_block.hpp"

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

namespace skyline {
namespace {

constexpr int kStaleRetries = 5;

[[noreturn]] void fail_foreign(const std::filesystem::path& path, const std::string& found) {
  throw UserError(path.string() + ": expected a file with this name alone, found " + found +
                  " (remove it: what is written here would reach something else)");
}

}  // namespace

FileDescriptor open_file(const std::filesystem::path& path, int flags, unsigned mode) {
  may_block("wait for a file");
  for (int stale = 0;;) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (descriptor >= 0) return FileDescriptor(descriptor);
    if (errno == EINTR) continue;
    // An NFS client may still use a name whose file another host has just replaced; opening again looks it
    // up.
    if (errno != ESTALE || ++stale > kStaleRetries) return FileDescriptor();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

FileDescriptor open_own_file(const std::filesystem::path& path, int flags, unsigned mode) {
  FileDescriptor file = open_file(path, flags | O_NOFOLLOW | O_NONBLOCK, mode);
  if (!file && errno == ELOOP) fail_foreign(path, "a symbolic link");
  if (!file && errno == ENXIO) fail_foreign(path, "a pipe or a device");
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return FileDescriptor();
  if (!S_ISREG(status.st_mode)) fail_foreign(path, "a pipe or a device");
  if (status.st_nlink > 1) fail_foreign(path, "a hard link");
  return file;
}

}  // namespace skyline
