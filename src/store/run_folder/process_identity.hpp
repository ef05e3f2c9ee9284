#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace skyline::store {

/// This machine's name; only letters, digits, `-`, `_` and `.`.
std::string host_name();

/// The set of processes in which a process id is unique: the host, its boot and the process namespace. Two
/// containers of one host, or two boots of it, are different places.
std::string process_place();

/// Start time of a process in clock ticks since the boot; 0 if there is no process with this id, or only a
/// zombie.
std::uint64_t process_start_ticks(pid_t process);

}  // namespace skyline::store
