#pragma once

#include "store/publish/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace skyline::store {

/// A whole file, mapped read-only and shared: the processes of a node hold it in memory once. Published files
/// never change, so the mapping stays valid when the name gets another file. If another program truncates the
/// file in place, reading a missing byte ends the process with one line and kExitUserError.
class MappedFile {
 public:
  /// Facts that change when the file is written to.
  struct Version {
    std::uint64_t bytes = 0;
    std::int64_t written_ns = 0;
    bool operator==(const Version&) const = default;
  };

  /// Maps the file. @throws UserError
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  int descriptor() const { return file_.get(); }
  /// Returns the version of the mapped file as it is now, whatever has its name.
  Version version() const;

 private:
  FileDescriptor file_;
  std::span<const std::byte> bytes_;
  std::string last_words_;  // message of a process that reads a missing byte
};

struct Seal;
/// Checks that a mapped file still has the contents that its seal states. A changed time alone is no error:
/// the contents are compared.
/// @param checked  the last version that was right; set to that of now
/// @throws UserError if it was overwritten
void check_unchanged(const MappedFile& file, const Seal& seal, const std::filesystem::path& path,
                     MappedFile::Version& checked);

}  // namespace skyline::store
