#pragma once

#include "skyline/core/option_table.hpp"

#include "evaluate/process/trainer_variables.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// What a program and all its descendants may use together; no value: no limit.
struct ProcessLimits {
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> processes = {};   // number of processes and threads
  std::optional<std::uint64_t> open_files = {};  // limit of each process; the system's limit holds as well
  static const OptionTable<ProcessLimits>& table();
};

/// A program of the user that is to run: its command line, its place, its limits, and how it reports.
struct ProcessPlan {
  std::vector<std::string> arguments = {};  // the first one is a path with a `/`, and is not searched for
  Variables variables = {};                 // all of its environment but our own variables
  std::filesystem::path folder = {};        // working directory
  /// File for stdout and stderr together; one that is there is emptied. Only its first and last `log_limit`
  /// bytes are kept, with a line between them that says how many were left out.
  std::filesystem::path log = {};
  std::uint64_t log_limit = std::uint64_t{1} << 20;
  /// Report file, in a folder that is private to this attempt, for programs that close the descriptor. The
  /// process creates it. If it is empty, the program has no channel for reports at all: neither
  /// SKYLINE_REPORT_FD nor SKYLINE_REPORT_FILE is added to the environment.
  std::filesystem::path report_file = {};
  /// Type of the socket that the program gets as its descriptor 3, in place of a pipe for reports:
  /// SOCK_STREAM, or SOCK_SEQPACKET; 0 for none.
  int socket_type = 0;
  /// Descriptor that the launcher keeps open until the program and its descendants are gone; -1 for none.
  int held = -1;
  /// Whether it is a server, whose forks are programs with launchers of their own: only its session belongs
  /// to it.
  bool serves = false;
  std::vector<int> processors = {};  // empty: those of the thread that starts it
  ProcessLimits limits = {};
  std::optional<double> timeout_s = {};      // time after which watch() stops it
  std::string timeout_name = "its timeout";  // name of that time in messages
  double grace_s = 20;                       // time between the SIGTERM of stop() and SIGKILL
};

/// Finds a program as a shell would: by its path if it has a `/`, else in the folders of PATH, but never in
/// the current folder. Returns its absolute path.
/// @param path  the variable PATH
/// @throws UserError with the reason alone if it is not there or cannot be executed; it names this host
std::filesystem::path find_program(const std::string& program, const std::string& path);

}  // namespace skyline::evaluate
