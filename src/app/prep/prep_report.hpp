#pragma once

#include "evaluate/process/reported_lines.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace skyline::app {

/// Reads what a process of python/skyline/prep reports (report.py): one JSON object a line, with one text. It
/// logs progress at once, and keeps the rest.
class PrepReport final : public evaluate::ReportedLines {
 public:
  PrepReport() : ReportedLines(kLongestLine) {}

  /// Returns whether the package runs.
  bool has_started() const { return has_started_; }
  /// Returns the lines for the person who started the program.
  const std::vector<std::string>& said() const { return said_; }
  /// Returns the one line with which the source was refused; empty if it was not.
  const std::string& error() const { return error_; }
  /// Returns what the interpreter lacks, as `pip install` takes it; empty if it lacks nothing.
  const std::string& missing() const { return missing_; }
  /// Returns the file that was read last; empty if there was none.
  const std::string& reading() const { return reading_; }

 private:
  static constexpr std::size_t kLongestLine = std::size_t{1} << 22;

  void read_line(std::string_view line) override;

  bool has_started_ = false;
  std::vector<std::string> said_;
  std::string error_;
  std::string missing_;
  std::string reading_;
};

}  // namespace skyline::app
