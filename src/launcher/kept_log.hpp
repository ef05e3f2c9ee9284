#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace skyline::launcher {

/// Keeps the beginning and the end of endless output in a file. A file that cannot be written, as on a full
/// disk, loses text and stops nobody.
class KeptLog {
 public:
  /// @param limit  bytes that are kept of the beginning, and of the end
  KeptLog(int descriptor, std::uint64_t limit) : descriptor_(descriptor), limit_(limit) {}
  /// Takes text. Only the beginning is written at once.
  void add(std::string_view text);
  /// Returns whether write_end() has something to write.
  bool has_new_end() const { return has_new_end_; }
  /// Writes what is kept of the end, after a line that says how much lies between.
  void write_end();
  /// Returns the errno of the first write that failed, or 0.
  int error() const { return error_; }

 private:
  void write_at(std::string_view text, std::uint64_t offset);

  int descriptor_;
  std::uint64_t limit_;
  std::uint64_t total_ = 0;  // bytes so far
  std::vector<char> end_;    // ring of the last bytes after the beginning
  std::size_t oldest_ = 0;   // start of the ring, once it is full
  bool has_new_end_ = false;
  int error_ = 0;
};

}  // namespace skyline::launcher
