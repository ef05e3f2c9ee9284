#pragma once

#include "core/system/open_file.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace skyline {
class ConfigNode;
}

namespace skyline::store {

// Files of a run are not read where a symbolic link leads: others may have put it there, and messages and
// reports quote what was read.

/// Reads a file of a run block by block from its beginning, for files that are too large for memory.
class BlockReader {
 public:
  explicit BlockReader(std::filesystem::path path) : path_(std::move(path)) {}
  /// Appends the next block to `text`. Returns false at the end. @throws as read_file; UserError for a link
  bool read(std::string& text);

 private:
  std::filesystem::path path_;
  FileDescriptor file_;  // null before the first block, and after a fault
  std::uint64_t place_ = 0;
};

/// Reads a whole file of a run. @throws as BlockReader::read
std::string read_run_file(const std::filesystem::path& path);

/// Reads a YAML file of a run. @throws as BlockReader::read; UserError with the line if it is not YAML
ConfigNode load_run_yaml(const std::filesystem::path& path);

}  // namespace skyline::store
