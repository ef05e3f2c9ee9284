#include "store/publish/temporary_file.hpp"

#include "skyline/core/error.hpp"

#include "core/system/process.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr std::size_t kWriteAheadBytes = std::size_t{1} << 20;

std::filesystem::path temporary_path(const std::filesystem::path& target) {
  static std::atomic<std::uint64_t> counter{0};
  std::filesystem::path path = target;
  path += ".tmp." + host_name() + "." + std::to_string(::getpid()) + "." + std::to_string(counter++);
  return path;
}

/// Cuts the last ".<digits>" off `text`. Returns false if there is none.
bool cut_number(std::string_view& text, std::uint64_t& number) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view digits = text.substr(dot + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  text = text.substr(0, dot);
  return true;
}

}  // namespace

TemporaryFile::~TemporaryFile() {
  remove();
}

Fault TemporaryFile::create() {
  PinnedFolders::check(target_);
  // A process with the same id may have left a file of this name.
  do {
    path_ = temporary_path(target_);
    file_ = open_file(path_, O_WRONLY | O_CREAT | O_EXCL, 0666);
  } while (!file_ && errno == EEXIST);
  if (file_) return {};
  const int error = errno;
  path_.clear();
  if (error == ENOENT) {
    throw UserError("cannot write " + target_.string() + ": there is no folder " +
                    target_.parent_path().string() + " (make it first)");
  }
  return {"", error};
}

void TemporaryFile::remove() noexcept {
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

Fault TemporaryFile::write(const FilePieces& pieces, std::uint64_t offset) {
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      const auto part = piece.first(std::min(piece.size(), kWriteAheadBytes));
      if (const int error = write_at(file_, part, offset)) return {"write", error};
      offset += part.size();
      piece = piece.subspan(part.size());
      start_disk(offset);
      IoOperation::advance();
    }
  }
  return {};
}

/// Makes the disk begin to write the bytes before `end`; faults show at the fsync. Only full pages are
/// written, because the system blocks writes to a page that is being written.
void TemporaryFile::start_disk(std::uint64_t end) {
  const std::uint64_t full = end / kPageBytes * kPageBytes;
  if (full < on_disk_ + kWriteAheadBytes) return;
  ::sync_file_range(file_.get(), static_cast<off_t>(on_disk_), static_cast<off_t>(full - on_disk_),
                    SYNC_FILE_RANGE_WRITE);
  on_disk_ = full;
}

Fault TemporaryFile::sync() {
  if (const int error = sync_file(file_)) return {"fsync", error};
  if (::fstat(file_.get(), &status_) != 0) return {"fstat", errno};
  return {"close", close_file(std::move(file_))};
}

Fault TemporaryFile::make(const FilePieces& pieces) {
  if (const Fault fault = create()) return fault;
  if (const Fault fault = write(pieces, 0)) return fault;
  return sync();
}

bool TemporaryFile::is_this_file(const std::filesystem::path& path) const {
  struct stat other {};
  return ::stat(path.c_str(), &other) == 0 && other.st_ino == status_.st_ino &&
         other.st_dev == status_.st_dev;
}

Fault TemporaryFile::replace_target() {
  if (::rename(path_.c_str(), target_.c_str()) != 0) {
    const int error = errno;
    // On NFS a rename that was repeated because its answer got lost fails with ENOENT.
    if (error != ENOENT || !is_this_file(target_)) return {"rename", error};
  }
  path_.clear();
  return {"fsync of the folder", sync_folder(target_.parent_path())};
}

Fault TemporaryFile::become_target() {
  const int error = ::link(path_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  // The file server may have made the link although its answer got lost.
  if (error != 0 && !is_this_file(target_)) {
    if (error == EEXIST) return {"link", error};
    // Without hard links (FAT, some FUSE and SMB mounts) the kernel may have another exclusive way.
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0) {
      return {"link", errno == EEXIST ? EEXIST : error};
    }
    path_.clear();
  }
  remove();
  return {"fsync of the folder", sync_folder(target_.parent_path())};
}

std::filesystem::path make_temporary_folder(const std::filesystem::path& target) {
  std::filesystem::path path;
  do {
    path = temporary_path(target);
    if (::mkdir(path.c_str(), 0700) == 0) return path;
  } while (errno == EEXIST);
  fail_system("write", target, "", errno);
}

bool parse_temporary_name(const std::string& name, TemporaryName& parsed) {
  std::string_view rest = name;
  std::uint64_t counter = 0;
  std::uint64_t process = 0;
  if (!cut_number(rest, counter) || !cut_number(rest, process)) return false;
  constexpr std::string_view kMark = ".tmp.";
  const std::size_t mark = rest.rfind(kMark);
  if (mark == std::string_view::npos || mark == 0 || mark + kMark.size() == rest.size()) return false;
  parsed.host = rest.substr(mark + kMark.size());
  parsed.process = static_cast<pid_t>(process);
  return true;
}

}  // namespace skyline::store
