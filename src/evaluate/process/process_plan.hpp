#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// A program of the user that is to run, with its limits.
struct ProcessPlan {
  std::vector<std::string> arguments = {};    // the first one is a path with a `/`, and is not searched for
  std::vector<std::string> environment = {};  // all of it but our own, as NAME=value
  std::filesystem::path folder = {};          // working directory
  /// File for stdout and stderr together; one that is there is emptied. Only its first and last `log_limit`
  /// bytes are kept, with a line between them that says how many were left out.
  std::filesystem::path log = {};
  std::uint64_t log_limit = std::uint64_t{1} << 20;
  /// Report file, in a folder that is private to this attempt, for programs that close the descriptor. The
  /// process creates it. If it is empty, the program has no channel for reports at all: neither
  /// SKYLINE_REPORT_FD nor SKYLINE_REPORT_FILE is added to the environment.
  std::filesystem::path report_file = {};
  /// Descriptor that the launcher keeps open until the program and its descendants are gone; -1 for none.
  int held = -1;
  /// Socket that the program gets as its descriptor 3, in place of a pipe for reports; -1 for none.
  int socket = -1;
  /// Whether it is a server, whose forks are programs with launchers of their own: only its session belongs
  /// to it.
  bool serves = false;
  std::vector<int> processors = {};  // empty: those of the thread that starts it
  // Limits of the program and all its descendants together; no value: no limit.
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> processes = {};   // number of processes and threads
  std::optional<std::uint64_t> open_files = {};  // limit of each process; the system's limit holds as well
  double grace_s = 20;                           // time between the SIGTERM of stop() and SIGKILL
};

}  // namespace skyline::evaluate
