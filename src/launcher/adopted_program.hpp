#pragma once

#include "launcher/control_group.hpp"
#include "launcher/options.hpp"
#include "launcher/program_start.hpp"

#include <optional>

namespace skyline::launcher {

/// Takes the child `options.adopt`, which waits at kGoDescriptor, as the program: gives it its limits and
/// lets it begin. The child has done the rest of a start itself: a session of its own, its death with this
/// process, its descriptors. Sets `failed` if that fails; the child is gone then.
/// @param group  the program's own, if it has one
StartedProgram adopt_program(const Options& options, const std::optional<ControlGroup>& group,
                             StartProblem& failed);

}  // namespace skyline::launcher
