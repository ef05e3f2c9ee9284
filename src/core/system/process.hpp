#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace skyline {

/// Returns the processors that this process may run on (its affinity mask), ascending.
std::vector<int> allowed_processors();

/// Binds the calling thread to one processor, or to several. Threads that it starts inherit that. Returns
/// false and changes nothing if the system refuses.
bool bind_this_thread(int processor);
bool bind_this_thread(const std::vector<int>& processors);

/// Looks up a variable; returns nullopt if it is not set.
using VariableLookup = std::function<std::optional<std::string>(const char* name)>;
/// Looks up an environment variable of this process.
std::optional<std::string> process_variable(const char* name);

/// Returns this machine's name, with only letters, digits, `-`, `_` and `.`.
std::string host_name();

/// Names the set of processes in which a process id is unique: the host, its boot and the process namespace.
/// Two containers of one host, or two boots of it, are different places.
std::string process_place();

/// Returns the start time of a process in clock ticks since the boot. Returns 0 if there is no process with
/// this id, or only a zombie.
std::uint64_t process_start_ticks(pid_t process);

/// Returns the path with a `~` at its start replaced by the home folder. A shell does that only where `~`
/// begins a word, not in `--run=~/a` or in a file. @throws UserError for `~name`, or if HOME is not set
std::string expand_home(const std::string& path, const VariableLookup& variable = process_variable);

/// Returns whether there is a process with this id, zombies aside. One that /proc hides from this user
/// counts.
bool process_exists(pid_t process);

/// Returns the suspended processes (SIGSTOP; a debugger's are not among them) that this user may see.
std::vector<pid_t> suspended_processes();

/// Looks up a variable in the environment with which a process was started. Returns nullopt if it was not
/// set, or if this user may not see it.
std::optional<std::string> variable_of_process(pid_t process, const char* name);

}  // namespace skyline
