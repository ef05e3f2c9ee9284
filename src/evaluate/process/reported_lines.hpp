#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skyline::evaluate {

/// The two ways on which a program may report.
enum class ReportChannel : std::uint8_t { kDescriptor, kFile };

/// Reads the lines that a program reports, of bytes that come in any pieces. The first mistake is kept, and
/// all that follows is ignored. One thread.
class ReportedLines {
 public:
  /// @param longest  limit of a line in bytes
  explicit ReportedLines(std::size_t longest) : longest_(longest) {}
  virtual ~ReportedLines() = default;

  /// Reads bytes of a channel, which may end within a line.
  void feed(std::string_view bytes, ReportChannel channel);
  /// Notes a mistake that the caller has found, unless there is one already.
  void refuse(std::string mistake);
  /// Returns the first mistake in one line: `line 3 of its report: accuracy: expected a number from 0 to 100,
  /// got 130`.
  const std::optional<std::string>& mistake() const { return mistake_; }
  /// Returns the number of lines so far.
  std::size_t lines() const { return lines_; }

 protected:
  /// Returns the beginning of a message about the line that is read now.
  std::string place() const { return "line " + std::to_string(lines_) + " of its report: "; }
  void fail(const std::string& mistake) { refuse(place() + mistake); }
  /// Reads a last line without a line feed.
  void read_rest();

 private:
  virtual void read_line(std::string_view line) = 0;
  void handle_line(std::string& line);

  std::size_t longest_;
  std::array<std::string, 2> pending_;  // begun line of each channel
  std::size_t lines_ = 0;
  std::optional<std::string> mistake_;
};

}  // namespace skyline::evaluate
