#pragma once

#include "store/publish/file_descriptor.hpp"
#include "store/publish/file_pieces.hpp"
#include "store/publish/storage_call.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

#include <sys/stat.h>

namespace skyline::store {

/// A file under a temporary name in the folder of its target, NAME.tmp.<host>.<pid>.<n>. Removed by the
/// destructor unless it became the target. The order is: create, write, sync, then replace_target or
/// become_target. After a fault the only way is to begin anew with another one: a system that could not make
/// bytes durable may have dropped them.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) : target_(target) {}
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// @throws UserError if there is no folder for it
  Fault create();
  /// Writes the pieces one after the other, from `offset` on.
  Fault write(const FilePieces& pieces, std::uint64_t offset);
  /// Makes it durable and closes it.
  Fault sync();
  /// Takes the target's name, whether the target exists or not.
  Fault replace_target();
  /// Takes the target's name if nothing has it yet; EEXIST, and nothing changes, otherwise.
  Fault become_target();
  /// Whether it has the target's name, although that may not be durable.
  bool has_become_target() const { return path_.empty(); }
  /// When it was written, by the clock of the file system.
  timespec written_at() const { return status_.st_mtim; }

 private:
  /// At least a page of any system. The first one, with the seal, is written last.
  static constexpr std::uint64_t kPageBytes = std::uint64_t{1} << 16;

  bool is_this_file(const std::filesystem::path& path) const;
  void start_disk(std::uint64_t end);
  void remove() noexcept;

  std::filesystem::path target_;
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t on_disk_ = kPageBytes;  // up to here the disk has begun, except with the first page
  struct stat status_ {};
};

/// Whether `name` is a temporary's; then host and process id are filled in.
struct TemporaryName {
  std::string host;
  pid_t process = 0;
};
bool parse_temporary_name(const std::string& name, TemporaryName& parsed);

}  // namespace skyline::store
