#include "store/publish/block_reader.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/retry_policy.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

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
