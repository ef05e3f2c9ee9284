#pragma once

#include "app/config/run_config.hpp"
#include "run/run_state.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <string>

namespace skyline::app {

/// Returns what a person can do next with a finished run: a table of at most ten lines, with commands to
/// copy. A command stands there only if it suits the run. Empty without a front.
/// @param columns  columns of the terminal: where it is too narrow, the commands stand alone
std::string next_steps(const store::RunPaths& paths, const RunConfig& config, const run::RunState& state,
                       std::size_t columns);

}  // namespace skyline::app
