#pragma once

#include "skyline/core/exit_code.hpp"

#include <functional>

#include <CLI/CLI.hpp>

namespace skyline::app {

/// Runs a command with its parsed arguments, prints to standard output and returns the exit code.
/// @throws UserError, FaultError, InternalError
using RunCommand = std::function<int()>;

// Each function defines the options of its command, and returns the function that runs it after parsing.
RunCommand prep_command(CLI::App& command);
RunCommand init_command(CLI::App& command);
RunCommand import_command(CLI::App& command);
RunCommand validate_command(CLI::App& command);
RunCommand show_command(CLI::App& command);
RunCommand simulate_command(CLI::App& command);
RunCommand sampler_command(CLI::App& command);
RunCommand schema_command(CLI::App& command);
RunCommand status_command(CLI::App& command);
RunCommand compare_command(CLI::App& command);
RunCommand journal_command(CLI::App& command);
RunCommand export_command(CLI::App& command);
RunCommand predict_command(CLI::App& command);
RunCommand evaluate_command(CLI::App& command);
RunCommand teacher_command(CLI::App& command);  // `skyline prep teacher`, which prep_command adds
RunCommand profile_command(CLI::App& command);
RunCommand report_command(CLI::App& command);
RunCommand trace_command(CLI::App& command);
RunCommand tensorboard_command(CLI::App& command);

// These commands are collective over the ranks that the launcher started.
RunCommand search_command(CLI::App& command);
RunCommand train_command(CLI::App& command);
RunCommand doctor_command(CLI::App& command);  // returns exit code 2 if a search could not run

}  // namespace skyline::app
