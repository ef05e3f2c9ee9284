#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace skyline {

/// Writes all bytes, and waits where a descriptor that does not block takes no more. Returns the system's
/// error number, or 0.
int write_whole(int descriptor, std::string_view bytes);

/// Lets this process live on when its standard streams fail. A write into a pipe without a reader, or beyond
/// the limit of a file's size, becomes an error instead of a signal. Standard streams that are closed are
/// opened such that their use fails, because another file would get their number. Call it first in main.
void outlive_standard_streams();

/// The columns of text that goes to a pipe or a file.
constexpr std::size_t kColumnsOfText = 160;
/// Returns how many columns a line on standard output should have at most: those of its terminal, or the
/// environment variable COLUMNS in their place; kColumnsOfText for a pipe or a file.
std::size_t output_columns();

/// What std::cout writes to while the object lives. It keeps the first error, which a stream would lose. Only
/// one exists at a time. Bytes go out when a piece is full, when std::cout is flushed, and on a terminal with
/// each line.
class StandardOutput {
 public:
  StandardOutput();
  /// Restores what std::cout wrote to before.
  ~StandardOutput();
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  /// Writes the rest. Returns false if the reader has gone before it had all. @throws FaultError if some has
  /// not gone out for another reason
  bool finish();

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace skyline
