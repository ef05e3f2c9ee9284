#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skyline::launcher {

/// The options of the launcher, each NAME=VALUE. A limit of 0 means none.
struct Options {
  std::uint64_t grace_ms = 20'000;     // time between SIGTERM and SIGKILL
  std::uint64_t log_limit = 1U << 20;  // bytes kept of the beginning and of the end
  std::uint64_t memory = 0;            // bytes of the program and its descendants
  std::uint64_t processes = 0;         // their number
  std::uint64_t open_files = 0;        // RLIMIT_NOFILE
  bool reports = false;                // whether kReportDescriptor is there
  bool holds = false;                  // whether kHeldDescriptor is there
  /// The program is a server whose forks are programs of others, with launchers of their own: only its
  /// session belongs to it, and the kernel ends others first.
  bool serves = false;
  std::uint64_t adopt = 0;  // process id of a child that is the program already; 0: it is started
  std::vector<std::uint64_t> processors = {};  // affinity, e.g. 0,1,5; none: as the launcher
  std::string folder = {};                     // working directory of the program; none: the launcher's
  char** program = nullptr;                    // arguments from `--` on, the program first; ends with nullptr
};

/// Reads the options. Returns what is wrong with them, or "".
std::string read_options(int count, char** arguments, Options& options);

}  // namespace skyline::launcher
