#pragma once

#include <cstdint>

namespace skyline::launcher {

// What the launcher and the process that starts it (the owner) say to each other.
//
//   skyline-launch NAME=VALUE ... -- PROGRAM ARGUMENT ...      options: options.hpp
//
// The launcher's environment is the program's. Descriptor 1 is the log.

/// A stream socket to the owner: commands come, notices go. Its end means that the owner is gone.
constexpr int kControlDescriptor = 3;
/// The writing end of the pipe for reports, if there is one.
constexpr int kReportDescriptor = 4;
/// A descriptor that stays open until the program and all its descendants are gone, e.g. a lock, if there is
/// one. The program does not have it.
constexpr int kHeldDescriptor = 5;
// Descriptors of the launcher of a fork (option `adopt`). Whoever forks a process of itself forks the
// launcher, too, which forks that process and then becomes this program: so it is the parent of a process
// that it has not started.
/// The reading end of a pipe that is stdout and stderr of the fork.
constexpr int kOutputDescriptor = 6;
/// The writing end of a pipe: a byte lets the fork begin, its end has it exit.
constexpr int kGoDescriptor = 7;
/// The number that the pipe for reports has in the program.
constexpr int kProgramReportDescriptor = 3;

/// A command is one byte. kStop sends SIGTERM, and SIGKILL after the grace time; kKill sends SIGKILL.
enum class Command : char { kStop = 's', kKill = 'k' };

/// How a program ended, or that it runs.
enum class News : std::int32_t {
  kStarted = 1,  // value: process id of the program
  kExited,       // value: exit code
  kSignaled,     // value: signal; amount: the exit code that says so, of a shell or a wrapper, or 0
  // amount: bytes of the tree; the limit if the kernel keeps it, 0 if the kernel ended the program for others
  kOutOfMemory,
  kManyProcesses,  // amount: their number; the limit if the kernel keeps it
  kNotStarted,     // value: errno; amount: a Step
};

/// The steps of a start, for kNotStarted.
enum class Step : std::uint64_t { kLaunch = 1, kProcessors, kFolder, kProgram };

constexpr std::uint32_t kNoticeMark = 0x534b594c;

/// A notice of the launcher: one kStarted, if the program was started, then one of the others, after which
/// the program and all its descendants are gone. A socket that ends without it means that the launcher has
/// failed.
struct Notice {
  std::uint32_t mark = kNoticeMark;
  News news = News::kStarted;
  std::int32_t value = 0;
  std::uint32_t log_error = 0;  // errno of the first write of the log that failed, in the last notice
  std::uint64_t amount = 0;
};

}  // namespace skyline::launcher
