#pragma once

#include "launcher/options.hpp"

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace skyline::launcher {

/// Binds a process, and what it starts later, to the processors; to none in particular if there are none. 0
/// is this process. Returns false and sets errno if that fails.
bool bind_process(pid_t process, const std::vector<std::uint64_t>& processors);

/// Gives a process the limits that the kernel keeps, as far as it takes them: no core file, and the number of
/// open files. Unless it serves, the kernel ends it, rather than others, when memory is short.
void limit_program(pid_t process, const Options& options);

}  // namespace skyline::launcher
