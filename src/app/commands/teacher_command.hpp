#pragma once

#include "app/commands/commands.hpp"

namespace skyline::app {

/// Defines `skyline prep teacher`, which writes what a larger network says of the samples of a data set.
RunCommand teacher_command(CLI::App& command);

}  // namespace skyline::app
