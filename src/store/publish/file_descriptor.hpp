#pragma once

#include "core/system/open_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

namespace skyline {
class ConfigNode;
}

namespace skyline::store {

/// Opens a regular file for reading and gets its status. It never waits, as opening a pipe would. Returns
/// null and sets errno if it fails. @throws UserError if it is a pipe or a device
FileDescriptor open_regular_file(const std::filesystem::path& path, struct stat& status);

/// Writes all bytes at `offset`, in pieces of 1 MB (one write of 4 MB and more is several times slower on
/// some machines). Returns 0 or the errno value.
int write_at(const FileDescriptor& file, std::span<const std::byte> bytes, std::uint64_t offset);

/// Makes a file durable with fsync. Returns 0 or the errno value.
int sync_file(const FileDescriptor& file);

/// Closes the file. Returns 0 or the errno value: on NFS a full disk may only show here.
int close_file(FileDescriptor file);

/// Makes names in the folder durable. Returns 0 or the errno value; 0 if the file system cannot do it.
int sync_folder(const std::filesystem::path& folder);

/// Fails after a system call.
/// @throws FaultError "cannot write runs/a/journal.jsonl: fsync: No space left on device (free some space and
///         run again)", or UserError if another attempt cannot work: no such file, no permission
[[noreturn]] void fail_system(std::string_view task, const std::filesystem::path& path, std::string_view call,
                              int error_number);

/// Lists the entries of a folder, in no order, patiently. @throws UserError, FaultError
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

/// The bytes of a future file, in order, in pieces that may be anywhere in memory.
using FilePieces = std::vector<std::span<const std::byte>>;

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
