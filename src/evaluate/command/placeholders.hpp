#pragma once

#include "skyline/core/config_node.hpp"

#include "evaluate/command/process_group.hpp"
#include "evaluate/process/process_plan.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::evaluate {

/// Returns the names of the placeholders in an argument, in their order: "epochs" for `--epochs={epochs}`.
/// Two braces `{{` stand for one, and a closing brace alone for itself.
/// @throws UserError with the mistake alone, if another brace begins no placeholder
std::vector<std::string> placeholders_in(std::string_view argument);

/// Returns the argument with the values in place of its placeholders. A value never makes a second argument,
/// whatever it contains.
/// @throws InternalError for a placeholder without a value, or an argument that placeholders_in refuses
std::string filled(std::string_view argument, const Variables& values);
std::vector<std::string> filled(const std::vector<std::string>& arguments, const Variables& values);

/// Returns the plan of a program whose arguments have placeholders. It starts in this process's folder.
/// @param variables  the program is found in their PATH
/// @throws UserError as find_program; InternalError as filled()
ProcessPlan plan_program(const std::vector<std::string>& arguments, const Variables& values,
                         Variables variables, std::filesystem::path log);

/// Returns whether one of the arguments has this placeholder; a malformed one has none.
bool uses_placeholder(const std::vector<std::string>& arguments, const std::string& name);

/// The names that placeholders of a section may have.
struct PlaceholderNames {
  std::vector<std::string> of_trial = {};    // names that every section has
  std::vector<std::string> of_group = {};    // names in a section whose trials have several processes
  std::vector<std::string> parameters = {};  // parameters of the space
  std::vector<std::string> later = {};       // names that have a value only after the training
  std::vector<std::string> nullable = {};    // names whose value may be null, which no argument can state
};

/// Returns the names for a section.
/// @param parameters  names of the space's parameters
PlaceholderNames placeholder_names(const CommandOptions& options, std::vector<std::string> parameters);

/// Checks the placeholders of a section's arguments. @throws UserError at the argument
/// @param arguments  `run` or `prepare`, as they are written
void check_placeholders(const ConfigNode& arguments, const PlaceholderNames& names);

}  // namespace skyline::evaluate
