#include "evaluate/command/placeholders.hpp"

#include "skyline/core/error.hpp"

#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace skyline::evaluate {
namespace {

/// Goes through the texts and the placeholders of an argument, in their order.
void read_argument(std::string_view argument, const std::function<void(std::string_view)>& text,
                   const std::function<void(const std::string&)>& placeholder) {
  while (!argument.empty()) {
    const std::size_t brace = std::min(argument.find('{'), argument.size());
    text(argument.substr(0, brace));
    argument.remove_prefix(brace);
    if (argument.empty()) return;
    if (argument.starts_with("{{")) {
      text("{");
      argument.remove_prefix(2);
      continue;
    }
    const std::size_t end = argument.find('}');
    const std::string name(argument.substr(1, std::min(end, argument.size()) - 1));
    if (end == std::string_view::npos || !is_variable_name(name)) {
      throw UserError("expected the name of a placeholder after `{`, as in {epochs}; write {{ for a brace");
    }
    placeholder(name);
    argument.remove_prefix(end + 1);
  }
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Returns why a placeholder cannot be used.
std::string reason_against(const std::string& name, const PlaceholderNames& names) {
  if (holds(names.later, name)) return "has no value before the training";
  if (name == "parent_folder") return "has no value here: it needs `inherit: true`";
  if (name == "onnx" || name == "pytorch" || name == "weights") {
    return "has no value here: only metrics of the section `training` are measured with trained networks";
  }
  if (name == "data") return "has no value here: the section `data` names no file";
  CommandOptions groups;
  groups.processes = 1;
  if (holds(placeholder_names(groups, {}).of_group, name)) {
    return "has no value here: only trials with `processes` have it, and not with every `launch` "
           "(docs/trainers.md)";
  }
  std::vector<std::string> known = names.of_trial;
  known.insert(known.end(), names.of_group.begin(), names.of_group.end());
  known.insert(known.end(), names.parameters.begin(), names.parameters.end());
  return "is unknown, " + suggestion(name, known, NamesOf::kUser);
}

}  // namespace

std::vector<std::string> placeholders_in(std::string_view argument) {
  std::vector<std::string> names;
  read_argument(
      argument, [](std::string_view) {}, [&](const std::string& name) { names.push_back(name); });
  return names;
}

std::string filled(std::string_view argument, const Variables& values) {
  std::string text;
  read_argument(
      argument, [&](std::string_view part) { text += part; },
      [&](const std::string& name) {
        const auto value = values.find(name);
        require(value != values.end(), "a placeholder without a value");
        text += value->second;
      });
  return text;
}

std::vector<std::string> filled(const std::vector<std::string>& arguments, const Variables& values) {
  std::vector<std::string> all;
  for (const std::string& argument : arguments) all.push_back(filled(argument, values));
  return all;
}

ProcessPlan plan_program(const std::vector<std::string>& arguments, const Variables& values,
                         Variables variables, std::filesystem::path log) {
  ProcessPlan plan{.arguments = filled(arguments, values),
                   .variables = std::move(variables),
                   .folder = std::filesystem::current_path(),
                   .log = std::move(log)};
  const auto path = plan.variables.find("PATH");
  std::string& program = plan.arguments.front();
  program = find_program(program, path == plan.variables.end() ? "" : path->second).string();
  return plan;
}

bool uses_placeholder(const std::vector<std::string>& arguments, const std::string& name) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    try {
      return holds(placeholders_in(argument), name);
    } catch (const UserError&) {  // check_placeholders says where
      return false;
    }
  });
}

PlaceholderNames placeholder_names(const CommandOptions& options, std::vector<std::string> parameters) {
  PlaceholderNames names{.of_trial = {"parameters", "epochs", "horizon", "seed", "trial", "folder", "resumed",
                                      "data", "network", "cache"},
                         .parameters = std::move(parameters)};
  if (options.inherit) names.of_trial.emplace_back("parent_folder");
  if (!options.forms_groups()) return names;
  for (const auto& [name, value] : group_placeholders(options.launch, {}, {})) names.of_group.push_back(name);
  return names;
}

void check_placeholders(const ConfigNode& arguments, const PlaceholderNames& names) {
  if (!arguments.is_list()) return;
  for (const ConfigNode& argument : arguments.items()) {
    std::vector<std::string> used;
    try {
      used = placeholders_in(argument.as_text());
    } catch (const UserError& mistake) {
      argument.fail(mistake.what());
    }
    for (const std::string& name : used) {
      const bool is_own = holds(names.of_trial, name) || holds(names.of_group, name);
      const bool is_parameter = holds(names.parameters, name);
      if (is_own && is_parameter) {
        argument.fail(in_quotes("{" + name + "}") + " may be two things: rename the parameter " +
                      in_quotes(name) + " of the space");
      }
      if (is_parameter && holds(names.nullable, name)) {
        argument.fail(in_quotes("{" + name + "}") +
                      " may be null, which an argument cannot say: give the file {parameters}, or a text "
                      "such as none in place of null");
      }
      if (!is_own && !is_parameter)
        argument.fail(in_quotes("{" + name + "}") + " " + reason_against(name, names));
    }
  }
}

}  // namespace skyline::evaluate
