#include "evaluate/command/command_options.hpp"

#include "core/config/argument_vector.hpp"
#include "core/config/byte_size.hpp"
#include "core/config/config_text.hpp"
#include "core/config/option_list.hpp"
#include "core/text/foreign_text.hpp"
#include "evaluate/command/process_group.hpp"
#include "evaluate/process/trainer_variables.hpp"

#include <algorithm>

namespace skyline::evaluate {
namespace {

constexpr double kMostEpochs = 1e6;
constexpr double kMostCommandThreads = 1024;  // no machine of today has more processors
constexpr double kMostProcesses = 1024;
constexpr double kMostRetries = 100;
constexpr std::uint64_t kMostLogBytes = std::uint64_t{1} << 30U;  // the launcher keeps the end in memory

constexpr int kFirstFreePort = 1024;  // lower ports need a privilege
constexpr int kLastPort = 65535;

/// Reads `{NAME: value}`.
OptionKind<std::vector<NamedText>> texts_by_name() {
  OptionKind<std::vector<NamedText>> kind{
      {"values by name, e.g. {DATA: /data/images}",
       load_yaml_text("{type: object, additionalProperties: {type: [string, number, boolean]}}", "schema")}};
  kind.read = [](const ConfigNode& node, std::vector<NamedText>& texts) {
    if (!node.is_map()) return false;
    texts.clear();
    for (const ConfigNode::Entry& entry : node.entries()) {
      if (!entry.value.is_scalar()) entry.value.fail_expected("a text");
      if (entry.value.as_text().find('\0') != std::string::npos)
        entry.value.fail("a variable cannot have a byte 0");
      texts.emplace_back(entry.key, entry.value.as_text());
    }
    return true;
  };
  kind.write = [](const std::vector<NamedText>& texts) {
    if (texts.empty()) return ConfigNode();
    std::vector<ConfigNode::Entry> entries;
    for (const auto& [name, value] : texts)
      entries.push_back({name, ConfigNode::make_scalar(value, {}, true), {}});
    return ConfigNode::make_map(std::move(entries), {});
  };
  return kind;
}

/// Reads `[first, last]`, both included.
OptionKind<PortRange> port_range() {
  const OptionKind<int> port = integer<int>(at_least(kFirstFreePort).at_most(kLastPort));
  ConfigNode schema =
      ConfigNode::make_map({{"type", schema_text("array"), {}}, {"items", port.schema, {}}}, {});
  for (const char* bound : {"minItems", "maxItems"}) schema.set(bound, ConfigNode::make_integer(2));
  OptionKind<PortRange> kind{{"[first, last], ports from 1024 on", schema}};
  kind.read = [port](const ConfigNode& node, PortRange& range) {
    if (!node.is_list() || node.items().size() != 2) return false;
    int last = 0;
    for (const ConfigNode& end : node.items()) {
      if (!port.read(end, &end == &node.items().front() ? range.first : last))
        end.fail_expected(port.expected);
    }
    range.end = last + 1;
    if (range.first <= last) return true;
    node.fail("expected the lower port first, got [" + std::to_string(range.first) + ", " +
              std::to_string(last) + "]");
  };
  kind.write = [port](const PortRange& range) {
    return ConfigNode::make_list({port.write(range.first), port.write(range.end - 1)}, {});
  };
  return kind;
}

OptionKind<CommandLaunch> launch_words() {
  return choice<CommandLaunch>({{"process", CommandLaunch::kProcess},
                                {"node", CommandLaunch::kNode},
                                {"mpirun", CommandLaunch::kMpirun}});
}

OptionKind<CommandFramework> framework_words() {
  return choice<CommandFramework>({{"torch", CommandFramework::kTorch},
                                   {"azure", CommandFramework::kAzure},
                                   {"tensorflow", CommandFramework::kTensorflow},
                                   {"mpi", CommandFramework::kMpi}});
}

/// Returns an argument that stands for itself, although it may have braces.
std::string without_placeholders(const std::string& text) {
  std::string argument;
  for (const char letter : text) (argument += letter) += letter == '{' ? "{" : "";
  return argument;
}

void check_function(const CommandOptions& options, const ConfigNode& section) {
  if (!options.python) {
    if (options.run.empty())
      section.fail("missing key `run`, the trainer, or `python`, a function in its place");
    const CommandOptions without;
    const char* const key = options.interpreter != without.interpreter ? "interpreter"
                            : options.start != without.start           ? "start"
                            : options.trials_per_server                ? "trials_per_server"
                                                                       : nullptr;
    if (key != nullptr) section.at(key).fail("needs `python`");
    return;
  }
  const ConfigNode& python = section.at("python");
  if (!options.run.empty()) python.fail("expected either `run` or `python`, got both");
  const std::size_t colon = options.python->rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == options.python->size() ||
      options.python->find('\0') != std::string::npos) {
    python.fail("expected package.module:function, or folder/script.py:function, got " +
                in_quotes(*options.python));
  }
  if (options.launch != CommandLaunch::kProcess) {
    section.at("launch").fail("does not start functions: write `run` with " + options.interpreter +
                              " -m skyline.run_trial " + printable(*options.python) + " {parameters}");
  }
}

void check_launch(const CommandOptions& options, const ConfigNode& section) {
  const CommandFramework framework = options.framework_or_default();
  const bool fits = options.launch == CommandLaunch::kMpirun ? framework == CommandFramework::kMpi
                    : options.launch == CommandLaunch::kNode ? framework == CommandFramework::kTorch
                                                             : framework != CommandFramework::kMpi;
  if (!fits) {
    const std::string launch = launch_words().write(options.launch).as_text();
    section.at("framework")
        .fail("`launch: " + launch + "` needs " +
              (options.launch == CommandLaunch::kMpirun ? "`framework: mpi`"
               : options.launch == CommandLaunch::kNode
                   ? "`framework: torch`"
                   : "another framework than mpi, which needs `launch: mpirun`"));
  }
  if (!options.processes) {
    const char* const key = options.launch != CommandLaunch::kProcess ? "launch"
                            : options.framework                       ? "framework"
                            : options.ports                           ? "ports"
                                                                      : nullptr;
    if (key != nullptr) section.at(key).fail("needs `processes`, the number of processes of a trial");
  }
  if (options.parameter_servers == 0) return;
  const ConfigNode& servers = section.at("parameter_servers");
  if (framework != CommandFramework::kTensorflow) servers.fail("needs `framework: tensorflow`");
  if (options.parameter_servers >= options.processes.value_or(1)) {
    servers.fail("expected fewer than `processes`, which has " +
                 std::to_string(options.processes.value_or(1)) + ", since one must train");
  }
}

void check_not_of_launcher(const ConfigNode& place, const std::string& name) {
  if (!is_of_launcher(name)) return;
  place.fail(in_quotes(name) +
             " belongs to the launcher of the search: a trainer that has it may join "
             "or break the search's MPI job");
}

void check_variables(const CommandOptions& options, const ConfigNode& section) {
  const ConfigNode& variables = key_or_section(section, "env");
  for (const auto& [name, value] : options.variables) {
    const ConfigNode& place = key_or_section(variables, name);
    if (!is_variable_name(name)) place.fail("expected the name of a variable: letters, digits and `_`");
    if (is_set_for_trainer(options, name)) place.fail("Skyline sets this variable itself");
    // `env` may set OMPI_ variables: they are options of Open MPI, too.
    if (!name.starts_with("OMPI_")) check_not_of_launcher(place, name);
  }
  const ConfigNode& passed = key_or_section(section, "pass");
  for (std::size_t i = 0; i < options.passed.size(); ++i) {
    const std::string& name = options.passed[i];
    const ConfigNode& place = passed.is_list() ? passed.items()[i] : passed;
    if (!is_variable_name(name)) place.fail("expected the name of a variable, got " + in_quotes(name));
    if (is_own_variable(name) || is_set_for_trainer(options, name)) {
      place.fail("Skyline sets " + in_quotes(name) +
                 " itself; `env` may have another value for some of them");
    }
    check_not_of_launcher(place, name);
    if (std::ranges::count(options.variables, name, &NamedText::first) > 0) {
      place.fail(in_quotes(name) + " is also set in `env`: leave out one of the two");
    }
    if (std::ranges::count(options.passed, name) > 1) place.fail(in_quotes(name) + " is listed twice");
  }
}

void check_command(const CommandOptions& options, const ConfigNode& section) {
  if (!section.is_map()) return;
  check_function(options, section);
  check_launch(options, section);
  check_variables(options, section);
  if (std::ranges::none_of(options.metrics, &CommandMetric::is_reported)) {
    section.at("metrics").fail("expected a metric that the trainer reports, which has no `run` and no `is`");
  }
  if (options.log_limit_bytes > kMostLogBytes)
    section.at("log_limit")
        .fail("expected at most 1 GiB, which is kept in memory, got " + section.at("log_limit").as_text());
}

}  // namespace

const ConfigNode& key_or_section(const ConfigNode& section, std::string_view key) {
  const ConfigNode* value = section.is_map() ? section.find(key) : nullptr;
  return value != nullptr ? *value : section;
}

CommandFramework CommandOptions::framework_or_default() const {
  return framework.value_or(launch == CommandLaunch::kMpirun ? CommandFramework::kMpi
                                                             : CommandFramework::kTorch);
}

std::vector<std::string> CommandOptions::trainer() const {
  if (!python) return run;
  std::vector<std::string> arguments{without_placeholders(interpreter), "-m", "skyline.run_trial",
                                     without_placeholders(*python), "{parameters}"};
  for (const CommandMetric& metric : metrics) {
    if (metric.is_reported()) arguments.push_back(metric.name);
  }
  return arguments;
}

const OptionTable<CommandOptions>& CommandOptions::table() {
  using Options = CommandOptions;
  static const OptionTable<Options> table =
      OptionTable<Options>{
          {{"run", &Options::run, argument_vector(),
            "The trainer: a program and its arguments, with placeholders such as `{parameters}` or the name "
            "of a parameter (commands.md)."},
           {"python", &Options::python,
            if_given(text("package.module:function, or folder/script.py:function")),
            "In place of `run`: a Python function that is called with the parameters by name, and returns "
            "its metrics (python.md)."},
           {"interpreter", &Options::interpreter, text("a program"), "The Python that calls it.",
            KeyRule::kMayChange},
           {"start", &Options::start,
            choice<FunctionStart>({{"fork", FunctionStart::kFork}, {"fresh", FunctionStart::kFresh}}),
            "`fork`: each rank imports the function once, and a trial is a fork of that process; `fresh`: a "
            "new Python imports it for each trial.",
            KeyRule::kMayChange},
           {"trials_per_server", &Options::trials_per_server,
            or_keyword("none", integer<std::uint64_t>(at_least(1))),
            "After how many trials the process that is forked is replaced by a new one.",
            KeyRule::kMayChange},
           {"metrics", &Options::metrics, metrics_by_name(),
            "The metrics that it reports, those that programs of their own measure after it, and those that "
            "expressions give before it.",
            KeyRule::kRequired},
           {"epochs", &Options::epochs, above(0).at_most(kMostEpochs), "Budget of a trial of the search."},
           {"cost", &Options::cost, above(0),
            "Predicted cost of an epoch, which may be an expression of parameters, e.g. `$depth * $width`."},
           {"threads", &Options::threads, at_least(1).at_most(kMostCommandThreads),
            "Processors of each process, and its OMP_NUM_THREADS."},
           {"device", &Options::device,
            choice<DeviceChoice>(
                {{"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"cuda", DeviceChoice::kCuda}}),
            "Whether a trial gets the GPU of its rank; `auto`: where the rank has one."},
           {"retries", &Options::retries, at_least(0).at_most(kMostRetries),
            "How often a trainer that has failed by itself is tried again, e.g. after an exit code other "
            "than 0.",
            KeyRule::kMayChange},
           {"deterministic", &Options::deterministic,
            "Whether the trainer has the same result for the same parameters, epochs and seed, on every "
            "host."},
           {"grace", &Options::grace_s, duration(at_least(0).below(kStopMargin_s)),
            "How long a trainer that is asked to stop (SIGTERM) may take before it is killed; less than the "
            "minute that a job has at the end of its time.",
            KeyRule::kMayChange},
           {"log_limit", &Options::log_limit_bytes, byte_size(),
            "How much of the beginning of a process's output is kept in its log, and how much of the end.",
            KeyRule::kMayChange},
           {"folder_limit", &Options::folder_limit_bytes, byte_size(),
            "Most bytes of the files in a trial's folder; a trial that has more fails.", KeyRule::kMayChange},
           {"inherit", &Options::inherit,
            "Whether a child is given the folder of a parent, `{parent_folder}`, to begin with its files."},
           {"limits", &Options::limits, "What an attempt may use; no limit unless given.",
            KeyRule::kMayChange},
           {"env", &Options::variables, texts_by_name(),
            "Variables of the environment that the trainer gets."},
           {"pass", &Options::passed, list_of(text("the name of a variable"), "a list of names of variables"),
            "Variables that the trainer gets from the environment of the search, beside those of the list in "
            "commands.md; their values are written nowhere.",
            KeyRule::kMayChange},
           {"prepare", &Options::prepare, argument_vector(),
            "A program and its arguments that run once on each host before its first trial.",
            KeyRule::kMayChange},
           {"prepare_timeout", &Options::prepare_timeout_s, or_keyword("none", duration(above(0))),
            "How long it may take; then the job ends.", KeyRule::kMayChange},
           {"processes", &Options::processes,
            if_given(integer<std::uint32_t>(at_least(1).at_most(kMostProcesses))),
            "How many processes train a trial together, which may be an expression of parameters."},
           {"launch", &Options::launch, launch_words(),
            "What starts: `process`: each process of a trial; `node`: one on each host, which starts the "
            "others (torchrun); `mpirun`: one, under an mpirun of its own."},
           {"framework", &Options::framework, if_given(framework_words()),
            "Whose variables tell the processes of a trial about each other; torch unless given, or mpi with "
            "`launch: mpirun`."},
           {"parameter_servers", &Options::parameter_servers, at_least(0).at_most(kMostProcesses),
            "How many of the processes are parameter servers, the first ones; for `framework: tensorflow`."},
           {"ports", &Options::ports, if_given(port_range()),
            "Ports for the processes of trials; unless given, some thousands below those that the system "
            "gives to connections.",
            KeyRule::kMayChange}},
          check_command}
          .advised("start",
                   "`fork` saves each trial the imports, some seconds with PyTorch. `fresh` is for modules "
                   "that start threads or open a GPU when they are imported.");
  return table;
}

std::vector<trial::Metric> metrics_of(const CommandOptions& options) {
  std::vector<trial::Metric> metrics = descriptions_of(options.metrics, MetricSource::kTrainer);
  const std::vector<trial::Metric> measured = descriptions_of(options.metrics, MetricSource::kProgram);
  metrics.insert(metrics.end(), measured.begin(), measured.end());
  return metrics;
}

}  // namespace skyline::evaluate
