#pragma once

#include "store/publish/file_descriptor.hpp"

#include <cstddef>
#include <filesystem>
#include <span>

namespace skyline::store {

/// A whole file, mapped read-only and shared: the processes of a node hold it in memory once. Published files
/// never change, so the mapping stays valid when the name gets another file.
class MappedFile {
 public:
  /// Maps the file. @throws UserError
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  int descriptor() const { return file_.get(); }

 private:
  FileDescriptor file_;
  std::span<const std::byte> bytes_;
};

}  // namespace skyline::store
