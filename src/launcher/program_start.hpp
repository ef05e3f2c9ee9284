#pragma once

#include "launcher/launch_protocol.hpp"
#include "launcher/options.hpp"
#include "launcher/program_limits.hpp"

#include <optional>

#include <sys/types.h>

namespace skyline::launcher {

/// Why a program was not started.
struct StartProblem {
  Step step = Step::kLaunch;
  int error_number = 0;
};

/// A program that is being started. The descriptors are closed on exec and do not block.
struct StartedProgram {
  pid_t id = 0;      // 0 if nothing was started
  int output = -1;   // its stdout and stderr
  int problem = -1;  // pipe with a StartProblem if the start failed; at its end once the program runs
};

/// Forks and starts the program in a session of its own, with its limits, the default signals and only the
/// descriptors 0, 1, 2 and that for reports. It dies with this process. The kernel ends it, rather than
/// others, when memory is short. Sets `failed` if nothing was started.
/// @param group  the program's own, if it has one
StartedProgram start_program(const Options& options, const std::optional<ControlGroup>& group,
                             StartProblem& failed);

/// Takes the child `options.adopt`, which waits at kGoDescriptor, as the program: gives it its limits and
/// lets it begin. The child has done the rest of a start itself: a session of its own, its death with this
/// process, its descriptors. Sets `failed` if that fails; the child is gone then.
/// @param group  the program's own, if it has one
StartedProgram adopt_program(const Options& options, const std::optional<ControlGroup>& group,
                             StartProblem& failed);

}  // namespace skyline::launcher
