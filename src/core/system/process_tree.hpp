#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sys/types.h>

namespace skyline {

// These functions throw nothing of Skyline's own and use only the C library: src/launcher is built from them
// too.

/// A process as /proc lists it.
struct ListedProcess {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t resident_bytes = 0;  // with memory that it shares with others
  std::uint64_t threads = 1;
};

/// Lists the processes of this host that /proc shows, with those that have ended and were not waited for.
std::vector<ListedProcess> list_processes();
/// Returns those of the processes that descend from one of the ancestors, without these, whatever session or
/// process group they are in.
std::vector<ListedProcess> descendants_of(std::span<const pid_t> ancestors,
                                          const std::vector<ListedProcess>& all);

/// Sends SIGKILL to the processes and to their process groups, except that of this process. A group gets it
/// at one moment, so that no member can fork away.
void kill_processes(const std::vector<ListedProcess>& processes);

/// Returns the memory of the process, of which each sharer has its part (PSS); resident_bytes if the system
/// does not tell it. It takes a millisecond and more for a large process.
std::uint64_t memory_of(const ListedProcess& process);

}  // namespace skyline
