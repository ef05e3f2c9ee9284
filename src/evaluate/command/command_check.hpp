#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"

#include "evaluate/command/process_group.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// Finds a program as a shell would: by its path if it has a `/`, else in the folders of PATH, but never in
/// the current folder. Returns its absolute path.
/// @param path  the variable PATH
/// @throws UserError with the reason alone if it is not there or cannot be executed; it names this host
std::filesystem::path find_program(const std::string& program, const std::string& path);

/// Checks a program, and its script, that gets nothing of a trial, as the user wrote its arguments.
/// @throws UserError
void check_program(const ConfigNode& arguments);
/// Returns the arguments with which it starts, first its absolute path. @throws UserError if it is not there
std::vector<std::string> program_arguments(const std::vector<std::string>& arguments);

/// Returns the variable PATH that a section's trainer gets.
std::string path_of_trainer(const CommandOptions& options);

/// What the ranks of a host have for their trials.
struct HostRoom {
  std::size_t slots = 1;       // slots of each rank
  std::size_t ranks = 1;       // ranks that evaluate
  std::size_t processors = 1;  // processors of this rank
  std::string host;
};
/// Refuses more threads than a rank has processors, and too few ports for the processes of all slots.
/// @param written  the section as it is written, for the place of the mistake
/// @throws UserError
void check_room(const CommandOptions& options, const ConfigNode& written, const HostRoom& room);

/// Checks a section as the user wrote it against the space and this machine: placeholders, programs, values,
/// threads and ports. @throws UserError
void check_command_section(const ConfigNode& written, const SectionPlace& place);

/// Checks the programs that measure metrics of networks that Skyline trains, as the user wrote the section:
/// placeholders and programs. @throws UserError
void check_measured_section(const ConfigNode& written, const SectionPlace& place);

}  // namespace skyline::evaluate
