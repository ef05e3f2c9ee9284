#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::evaluate {

/// Variables of a process, by name.
using Variables = std::map<std::string, std::string>;

/// Returns whether it is a name that a shell and every program can use: letters, digits and `_`.
bool is_variable_name(std::string_view name);

/// Returns whether a variable tells a process how the launcher of the search connects MPI's processes. A
/// trainer that has such a variable may join the search's job, or end it.
bool is_of_launcher(std::string_view name);

/// Returns whether the trainer gets a value of Skyline's own for this variable, unless `env` has another one.
bool is_own_variable(std::string_view name);

/// Returns the variables of this process.
Variables process_variables();

/// Returns the variables of `all` that a trainer gets: a fixed list of harmless ones, and those that `passed`
/// names.
Variables allowed_variables(const Variables& all, const std::vector<std::string>& passed);

}  // namespace skyline::evaluate
