#pragma once

#include "evaluate/process/reported_lines.hpp"

#include <csignal>
#include <filesystem>
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

/// While it lives, SIGINT, SIGTERM and SIGHUP wait: what is temporary can be removed before they take effect,
/// which they do when the object ends.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Returns whether one waits.
  bool pending() const;

 private:
  sigset_t held_{};  // signals that this process does not ignore
  sigset_t earlier_{};
};

/// A call of `python3 -m skyline.prep`.
struct PrepCall {
  std::string title;                   // beginning of messages: "prep images"
  std::vector<std::string> arguments;  // words after the report's descriptor
};

/// Runs a call in a process of its own, which ends with this one, in the first interpreter that has what it
/// needs. Returns the lines that it has for the person who started the program.
/// @param folder   private folder for its report and its log, empty
/// @param signals  a signal that waits ends the process
/// @throws UserError with the one line of a refusal; or if there is no Python that has what the call needs,
///         or the process fails: damaged bytes may end a library that reads them
std::vector<std::string> run_prep(const PrepCall& call, const std::filesystem::path& folder,
                                  const HeldSignals& signals);

}  // namespace skyline::app
