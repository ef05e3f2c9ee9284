#pragma once

#include "store/publish/file_descriptor.hpp"
#include "store/publish/retry_policy.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

#include <sys/stat.h>

namespace skyline::store {

/// A file with a temporary name in the folder of its target, NAME.tmp.<host>.<pid>.<n>. The destructor
/// removes it unless it became the target. The order of calls is create, write, sync, then replace_target or
/// become_target. After a fault, begin again with another object: a system that could not make bytes durable
/// may have dropped them.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) : target_(target) {}
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Creates the file. @throws UserError if its folder is missing
  Fault create();
  /// Writes the pieces one after the other, starting at `offset`.
  Fault write(const FilePieces& pieces, std::uint64_t offset);
  /// Makes the file durable and closes it.
  Fault sync();
  /// Creates, writes and syncs a file of these bytes.
  Fault make(const FilePieces& pieces);
  /// Takes the target's name, whether the target exists or not.
  Fault replace_target();
  /// Takes the target's name if nothing has it yet; else returns EEXIST and changes nothing.
  Fault become_target();
  /// Returns whether the file has the target's name, though perhaps not durably.
  bool has_become_target() const { return path_.empty(); }
  /// Returns the time of writing by the clock of the file system.
  timespec written_at() const { return status_.st_mtim; }

 private:
  /// At least one page on any system. The first page, with the seal, is written last.
  static constexpr std::uint64_t kPageBytes = std::uint64_t{1} << 16;

  bool is_this_file(const std::filesystem::path& path) const;
  void start_disk(std::uint64_t end);
  void remove() noexcept;

  std::filesystem::path target_;
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t on_disk_ = kPageBytes;  // the disk writes the bytes up to here, except the first page
  struct stat status_ {};
};

/// Makes a folder that only this user can read, with a temporary name beside the target, and returns its
/// path. Whoever makes it removes it. @throws UserError, FaultError
std::filesystem::path make_temporary_folder(const std::filesystem::path& target);

/// Parts of a temporary's name.
struct TemporaryName {
  std::string host;
  pid_t process = 0;
};
bool parse_temporary_name(const std::string& name, TemporaryName& parsed);

}  // namespace skyline::store
