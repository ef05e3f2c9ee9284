#include "evaluate/command/command_check.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_errors.hpp"
#include "core/system/process.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "evaluate/command/placeholders.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <variant>
#include <vector>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;

/// Programs that read a file of commands, in no other folder than this one, without a version in their names.
constexpr std::array<std::string_view, 3> kInterpreters{"python", "Rscript", "perl"};

/// Returns whether an argument of `run` has the text.
bool is_in_arguments(const ConfigNode& run, const std::string& text) {
  return std::ranges::any_of(run.items(), [&](const ConfigNode& argument) {
    return argument.as_text().find(text) != std::string::npos;
  });
}

/// Returns whether a trainer knows a parameter by the number of its processes, which may be an expression.
bool is_in_processes(const std::vector<ConfigNode>& searched, const std::string& name) {
  const auto is_of_name = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
  };
  const std::string dollar = '$' + name;
  for (const ConfigNode& expression : searched) {
    if (!expression.path().ends_with(".processes")) continue;
    const std::string text = expression.as_text();
    for (std::size_t at = text.find(dollar); at != std::string::npos; at = text.find(dollar, at + 1)) {
      const std::size_t end = at + dollar.size();
      if (end == text.size() || !is_of_name(text[end])) return true;
    }
  }
  return false;
}

/// Refuses parameters that a user means to hand to the trainer, but does not.
void check_parameters(const ConfigNode& written, const SectionPlace& place) {
  if (written.find("run") == nullptr) return;  // a function gets all
  const ConfigNode& run = written.at("run");
  for (const space::Parameter& parameter : place.space.parameters()) {
    const std::string dollar = '$' + parameter.name;
    for (const ConfigNode& argument : run.items()) {
      if (argument.as_text() != dollar && !argument.as_text().ends_with('=' + dollar)) continue;
      argument.fail(in_quotes(dollar) + " reaches the program as it is: write {" + parameter.name + "}");
    }
    if (place.space.has_network() || is_in_arguments(run, "{parameters}") ||
        is_in_arguments(run, '{' + parameter.name + '}') || is_in_processes(place.searched, parameter.name)) {
      continue;
    }
    run.fail("the trainer is never given the parameter " + in_quotes(parameter.name) + ": write {" +
             parameter.name + "} or {parameters} in an argument, or leave the parameter out");
  }
}

/// Refuses rungs whose trainer does not know how many epochs it has.
void check_epochs(const ConfigNode& written, const SectionPlace& place) {
  if (written.find("run") == nullptr || place.budgets.empty()) return;
  const ConfigNode& run = written.at("run");
  for (const char* placeholder : {"{epochs}", "{horizon}", "{parameters}"}) {
    if (is_in_arguments(run, placeholder)) return;
  }
  run.fail(
      "the trainer is never given the epochs of a trial, which `budgets` make differ: write {epochs} or "
      "{parameters} in an argument");
}

/// Checks that an interpreter finds its script, where that is the first argument.
void check_script(const ConfigNode& arguments) {
  if (arguments.items().size() < 2) return;
  std::string interpreter = fs::path(arguments.items().front().as_text()).filename().string();
  interpreter.erase(interpreter.find_last_not_of("0123456789.") + 1);  // a version
  const ConfigNode& script = arguments.items()[1];
  const std::string& name = script.as_text();
  if (std::ranges::find(kInterpreters, interpreter) == kInterpreters.end()) return;
  if (name.empty() || name.front() == '-' || !placeholders_in(name).empty()) return;
  std::error_code failure;
  if (fs::exists(filled(name, {}), failure)) return;
  script.fail(in_quotes(name) + " is not there on " + host_name() + ", for " +
              in_quotes(arguments.items().front().as_text()) + " in the folder " +
              fs::current_path().string());
}

/// Checks the program of `run` or `prepare` and its placeholders.
/// @param is_first  whether nothing has run before that may make a script
void check_arguments(const ConfigNode* arguments, const PlaceholderNames& names, const std::string& path,
                     bool is_first = true) {
  if (arguments == nullptr) return;
  check_placeholders(*arguments, names);
  const ConfigNode& program = arguments->items().front();
  if (!placeholders_in(program.as_text()).empty()) return;  // found when it starts
  try {
    (void)find_program(filled(program.as_text(), {}), path);
  } catch (const UserError& reason) {
    program.fail(reason.what());
  }
  if (is_first) check_script(*arguments);
}

void check_interpreter(const CommandOptions& options, const ConfigNode& written, const std::string& path) {
  if (!options.python) return;
  try {
    (void)find_program(options.interpreter, path);
  } catch (const UserError& reason) {
    key_or_section(written, "interpreter").fail(reason.what());
  }
}

/// Returns whether a metric is asked before the training. @param entry  of `metrics`
bool is_before(const ConfigNode::Entry& entry) {
  const ConfigNode* const when = entry.value.is_map() ? entry.value.find("when") : nullptr;
  return when != nullptr && when->is_scalar() && when->as_text() == "before";
}

/// @param metrics  by name, or a list of such
bool has_before(const ConfigNode& metrics) {
  if (metrics.is_list()) return std::ranges::any_of(metrics.items(), has_before);
  return metrics.is_map() && std::ranges::any_of(metrics.entries(), is_before);
}

/// Refuses budgets beside a metric that is asked before the training: a trial that is continued was asked.
void check_not_continued(const ConfigNode& section, const SectionPlace& place) {
  const ConfigNode* const metrics = section.is_map() ? section.find("metrics") : nullptr;
  if (place.budgets.empty() || metrics == nullptr || !has_before(*metrics)) return;
  place.budgets_from->fail("a metric with `when: before` needs trials that are not continued");
}

/// Returns the names of what there is before a training.
PlaceholderNames known_before(PlaceholderNames names) {
  names.later = {"folder", "onnx", "pytorch", "weights"};
  for (const std::string& later : names.later) std::erase(names.of_trial, later);
  return names;
}

/// Checks the program of each measured metric. @param metrics  by name, or a list of such
void check_metrics(const ConfigNode* metrics, const PlaceholderNames& names, const std::string& path,
                   bool is_first = true) {
  if (metrics == nullptr) return;
  for (const ConfigNode& item : metrics->is_list() ? metrics->items() : std::vector<ConfigNode>()) {
    check_metrics(&item, names, path, is_first);
  }
  for (const ConfigNode::Entry& entry :
       metrics->is_map() ? metrics->entries() : std::vector<ConfigNode::Entry>()) {
    if (!entry.value.is_map()) continue;
    check_arguments(entry.value.find("run"), is_before(entry) ? known_before(names) : names, path, is_first);
  }
}

std::vector<std::string> names_of(const std::vector<space::Parameter>& parameters) {
  std::vector<std::string> names;
  for (const space::Parameter& parameter : parameters) names.push_back(parameter.name);
  return names;
}

std::vector<std::string> nullable_of(const std::vector<space::Parameter>& parameters) {
  std::vector<std::string> names;
  for (const space::Parameter& parameter : parameters) {
    const bool may_be_null =
        std::ranges::find(parameter.values, space::Value(space::Null{})) != parameter.values.end();
    if (may_be_null) names.push_back(parameter.name);
  }
  return names;
}

/// Returns the place of a parameter of the space, or the space.
const ConfigNode& place_of_parameter(const ConfigNode& space, const std::string& name) {
  const ConfigNode* const parameters = space.is_map() ? space.find("parameters") : nullptr;
  const ConfigNode* const found =
      parameters != nullptr && parameters->is_map() ? parameters->find(name) : nullptr;
  return found != nullptr ? *found : space;
}

/// Values are arguments of a program, which end at a zero byte, and numbers of JSON, which are finite.
void check_values(const SectionPlace& place) {
  for (const space::Parameter& parameter : place.space.parameters()) {
    for (const space::Value& value : parameter.values) {
      const auto* const number = std::get_if<double>(&value);
      const bool is_number = number == nullptr || std::isfinite(*number);
      if (is_number && space::to_text(value).find('\0') == std::string::npos) continue;
      place_of_parameter(place.space_section, parameter.name)
          .fail(is_number ? "a trainer cannot be given a text with a zero byte"
                          : "a trainer cannot be given " + space::to_text(value) +
                                ", since JSON has finite numbers alone");
    }
  }
}

void check_port_range(const CommandOptions& options, const ConfigNode& written) {
  const PortRange system = ephemeral_ports();
  if (!options.ports || options.ports->end <= system.first || options.ports->first >= system.end) return;
  written.at("ports").fail("overlaps with the ports that the system gives to connections, " +
                           std::to_string(system.first) + " to " + std::to_string(system.end - 1) + " on " +
                           host_name());
}

}  // namespace

void check_program(const ConfigNode& arguments) {
  check_arguments(&arguments, {}, process_variable("PATH").value_or(""));
}

std::string path_of_trainer(const CommandOptions& options) {
  const auto own = std::ranges::find(options.variables, "PATH", &NamedText::first);
  return own != options.variables.end() ? own->second : process_variable("PATH").value_or("");
}

void check_room(const CommandOptions& options, const ConfigNode& written, const HostRoom& room) {
  if (static_cast<std::size_t>(options.threads) > room.processors) {
    key_or_section(written, "threads")
        .fail("expected at most " + std::to_string(room.processors) + ", the processors of a rank on " +
              room.host + ", got " + std::to_string(options.threads) +
              "; `sbatch -c` or mpirun's `--map-by slot:PE=" + std::to_string(options.threads) +
              " --bind-to core` gives a rank so many");
  }
  if (!options.forms_groups()) return;
  const PortRange ports = options.ports.value_or(default_ports(ephemeral_ports()));
  const std::size_t least = room.slots * room.ranks * options.processes.value_or(1);
  if (static_cast<std::size_t>(ports.size()) / room.ranks * room.ranks >= least) return;
  key_or_section(written, "ports")
      .fail("expected at least " + std::to_string(least) + " ports, for the processes of " +
            counted(room.slots * room.ranks, "slot") + " on " + room.host + ", got " +
            std::to_string(ports.size()));
}

void check_command_section(const ConfigNode& written, const SectionPlace& place) {
  const CommandOptions options = CommandOptions::table().parse(written);
  const std::string path = path_of_trainer(options);
  PlaceholderNames of_run = placeholder_names(options, names_of(place.space.parameters()));
  of_run.nullable = nullable_of(place.space.parameters());
  PlaceholderNames of_prepare{.of_trial = {"data", "cache"}};
  if (!place.has_data_file) {
    std::erase(of_run.of_trial, "data");
    std::erase(of_prepare.of_trial, "data");
  }
  Mistakes mistakes;
  const bool is_first = written.find("prepare") == nullptr;
  mistakes.attempt([&] { check_arguments(written.find("run"), of_run, path, is_first); });
  mistakes.attempt([&] { check_interpreter(options, written, path); });
  mistakes.attempt([&] { check_arguments(written.find("prepare"), of_prepare, path); });
  mistakes.attempt([&] { check_metrics(written.find("metrics"), of_run, path, is_first); });
  mistakes.attempt([&] { check_not_continued(written, place); });
  mistakes.attempt([&] { check_parameters(written, place); });
  mistakes.attempt([&] { check_epochs(written, place); });
  mistakes.attempt([&] { check_values(place); });
  mistakes.attempt([&] { check_port_range(options, written); });
  mistakes.attempt([&] {
    check_room(options, written,
               {.slots = place.slots, .processors = allowed_processors().size(), .host = host_name()});
  });
  mistakes.throw_if_any();
}

void check_measured_section(const ConfigNode& written, const SectionPlace& place) {
  const ConfigNode* const metrics = written.is_map() ? written.find("metrics") : nullptr;
  check_metrics(metrics,
                {.of_trial = {"parameters", "epochs", "horizon", "seed", "trial", "folder", "data", "onnx",
                              "pytorch", "weights"},
                 .parameters = names_of(place.space.parameters()),
                 .nullable = nullable_of(place.space.parameters())},
                process_variable("PATH").value_or(""));
  check_not_continued(written, place);
}

}  // namespace skyline::evaluate
