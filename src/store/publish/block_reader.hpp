#pragma once

#include "core/system/open_file.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace skyline::store {

/// Reads a file block by block from its beginning, for files that are too large for memory.
class BlockReader {
 public:
  explicit BlockReader(std::filesystem::path path) : path_(std::move(path)) {}
  /// Appends the next block to `text`. Returns false at the end. @throws as read_file
  bool read(std::string& text);

 private:
  std::filesystem::path path_;
  FileDescriptor file_;  // null before the first block, and after a fault
  std::uint64_t place_ = 0;
};

}  // namespace skyline::store
