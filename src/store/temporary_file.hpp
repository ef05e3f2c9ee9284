#pragma once

#include "store/file_descriptor.hpp"

#include <filesystem>
#include <span>
#include <string>

#include <sys/stat.h>

namespace skyline::store {

/// A file under a temporary name in the folder of its target, NAME.tmp.<host>.<pid>.<n>. Removed by the
/// destructor unless it became the target. The order is: write, then replace_target or become_target.
class TemporaryFile {
 public:
  /// @throws UserError
  explicit TemporaryFile(const std::filesystem::path& target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Writes all of it, makes it durable and closes it. @throws UserError
  void write(std::span<const std::byte> bytes);
  /// Takes the target's name, whether the target exists or not. @throws UserError
  void replace_target();
  /// Takes the target's name if nothing has it yet; returns false, and changes nothing, otherwise.
  /// @throws UserError
  bool become_target();
  /// When it was written, by the clock of the file system.
  timespec written_at() const { return status_.st_mtim; }

 private:
  bool is_this_file(const std::filesystem::path& path) const;
  void remove() noexcept;

  std::filesystem::path target_;
  std::filesystem::path path_;
  FileDescriptor file_;
  struct stat status_ {};
};

/// Whether `name` is a temporary's; then host and process id are filled in.
struct TemporaryName {
  std::string host;
  pid_t process = 0;
};
bool parse_temporary_name(const std::string& name, TemporaryName& parsed);

}  // namespace skyline::store
