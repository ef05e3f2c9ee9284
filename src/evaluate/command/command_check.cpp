#include "evaluate/command/command_check.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_errors.hpp"
#include "core/system/process.hpp"
#include "core/text/foreign_text.hpp"
#include "evaluate/command/placeholders.hpp"
#include "evaluate/command/trainer_variables.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include <unistd.h>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_of(const std::string& path) {
  std::vector<fs::path> folders;
  std::istringstream text(path);
  for (std::string folder; std::getline(text, folder, ':');) {
    if (folder.starts_with('/')) folders.emplace_back(folder);
  }
  return folders;
}

bool is_executable(const fs::path& file) {
  std::error_code failure;
  return fs::is_regular_file(file, failure) && access(file.c_str(), X_OK) == 0;
}

/// Returns whether an argument of `run` has the text.
bool is_in_arguments(const ConfigNode& run, const std::string& text) {
  return std::ranges::any_of(run.items(), [&](const ConfigNode& argument) {
    return argument.as_text().find(text) != std::string::npos;
  });
}

/// Refuses parameters that a user means to hand to the trainer, but does not.
void check_parameters(const ConfigNode& written, const space::SearchSpace& space) {
  const ConfigNode& run = written.at("run");
  const ConfigNode* const processes = written.find("processes");
  for (const space::Parameter& parameter : space.parameters()) {
    const std::string dollar = '$' + parameter.name;
    for (const ConfigNode& argument : run.items()) {
      if (argument.as_text() != dollar && !argument.as_text().ends_with('=' + dollar)) continue;
      argument.fail(in_quotes(dollar) + " reaches the program as it is: write {" + parameter.name + "}");
    }
    if (space.has_network() || is_in_arguments(run, "{parameters}") ||
        is_in_arguments(run, '{' + parameter.name + '}') ||
        (processes != nullptr && processes->is_scalar() &&
         processes->as_text().find(dollar) != std::string::npos)) {
      continue;
    }
    run.fail("the trainer is never given the parameter " + in_quotes(parameter.name) + ": write {" +
             parameter.name + "} or {parameters} in an argument, or leave the parameter out");
  }
}

/// Checks the program of `run` or `prepare` and its placeholders.
void check_arguments(const ConfigNode* arguments, const PlaceholderNames& names, const std::string& path) {
  if (arguments == nullptr) return;
  check_placeholders(*arguments, names);
  const ConfigNode& program = arguments->items().front();
  if (!placeholders_in(program.as_text()).empty()) return;  // found when it starts
  try {
    (void)find_program(filled(program.as_text(), {}), path);
  } catch (const UserError& reason) {
    program.fail(reason.what());
  }
}

/// Values are arguments of a program, which end at a zero byte.
void check_values(const space::SearchSpace& space) {
  for (const space::Parameter& parameter : space.parameters()) {
    for (const space::Value& value : parameter.values) {
      if (space::to_text(value).find('\0') == std::string::npos) continue;
      throw UserError("space.parameters." + printable(parameter.name) +
                      ": a trainer cannot be given a text with a zero byte");
    }
  }
}

void check_ports(const CommandOptions& options, const ConfigNode& written) {
  const PortRange system = ephemeral_ports();
  if (!options.ports || options.ports->end <= system.first || options.ports->first >= system.end) return;
  written.at("ports").fail("overlaps with the ports that the system gives to connections, " +
                           std::to_string(system.first) + " to " + std::to_string(system.end - 1) + " on " +
                           host_name());
}

}  // namespace

fs::path find_program(const std::string& program, const std::string& path) {
  if (program.find('/') != std::string::npos) {
    const fs::path file = fs::absolute(program);
    if (is_executable(file)) return file;
    std::error_code failure;
    throw UserError(in_quotes(program) +
                    (fs::exists(file, failure) ? " cannot be executed" : " is not there") + " on " +
                    host_name());
  }
  std::string reason = " is in no folder of PATH on ";
  for (const fs::path& folder : folders_of(path)) {
    if (is_executable(folder / program)) return folder / program;
    std::error_code failure;
    if (fs::is_regular_file(folder / program, failure)) reason = " cannot be executed on ";
  }
  throw UserError(in_quotes(program) + reason + host_name());
}

std::string path_of_trainer(const CommandOptions& options) {
  const auto own = std::ranges::find(options.variables, "PATH", &NamedText::first);
  return own != options.variables.end() ? own->second : process_variable("PATH").value_or("");
}

void check_command_section(const ConfigNode& written, const space::SearchSpace& space) {
  const CommandOptions options = CommandOptions::table().parse(written);
  std::vector<std::string> parameters;
  for (const space::Parameter& parameter : space.parameters()) parameters.push_back(parameter.name);
  const std::string path = path_of_trainer(options);
  Mistakes mistakes;
  mistakes.attempt(
      [&] { check_arguments(written.find("run"), placeholder_names(options, parameters), path); });
  mistakes.attempt([&] { check_arguments(written.find("prepare"), {.of_trial = {"data", "cache"}}, path); });
  mistakes.attempt([&] { check_parameters(written, space); });
  mistakes.attempt([&] { check_values(space); });
  mistakes.attempt([&] { check_ports(options, written); });
  mistakes.throw_if_any();
}

}  // namespace skyline::evaluate
