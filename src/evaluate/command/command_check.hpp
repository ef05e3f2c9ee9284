#pragma once

#include "evaluate/command/process_group.hpp"

#include <filesystem>
#include <string>

namespace skyline::evaluate {

/// Finds a program as a shell would: by its path if it has a `/`, else in the folders of PATH, but never in
/// the current folder. Returns its absolute path.
/// @param path  the variable PATH
/// @throws UserError with the reason alone if it is not there or cannot be executed; it names this host
std::filesystem::path find_program(const std::string& program, const std::string& path);

/// Returns the variable PATH that a section's trainer gets.
std::string path_of_trainer(const CommandOptions& options);

/// Checks a section as the user wrote it against the space and this machine: placeholders, programs, ports
/// and names of metrics. @throws UserError
void check_command_section(const ConfigNode& written, const space::SearchSpace& space);

}  // namespace skyline::evaluate
