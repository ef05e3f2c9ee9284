#pragma once

#include "launcher/options.hpp"
#include "launcher/program_start.hpp"

namespace skyline::launcher {

/// Takes the child `options.adopt`, which waits at kGoDescriptor, as the program: gives it its limits and
/// lets it begin. The child has done the rest of a start itself: a session of its own, its death with this
/// process, its descriptors. Sets `failed` if that fails; the child is gone then.
StartedProgram adopt_program(const Options& options, StartProblem& failed);

}  // namespace skyline::launcher
