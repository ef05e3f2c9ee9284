#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/trial/metric.hpp"

#include "evaluate/command/command_metric.hpp"
#include "evaluate/process/host_resources.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::evaluate {

/// How the processes of a trial start: one for each member, one for each host, or one that is a nested
/// mpirun.
enum class CommandLaunch { kProcess, kNode, kMpirun };

/// How the process of a function starts: a fork of a Python that has imported it, or a new Python.
enum class FunctionStart { kFork, kFresh };

/// The library whose variables tell the processes of a trial about each other.
enum class CommandFramework { kTorch, kAzure, kTensorflow, kMpi };

using NamedText = std::pair<std::string, std::string>;

/// A user's own trainer as the evaluator: the section `command`.
struct CommandOptions {
  std::vector<std::string> run = {};       // program and arguments; empty with `python`
  std::optional<std::string> python = {};  // address of the function, e.g. my_trainer:train
  std::string interpreter = "python3";     // its program
  FunctionStart start = FunctionStart::kFork;
  std::optional<std::uint64_t> trials_per_server = {};
  std::vector<CommandMetric> metrics;
  double epochs = 1;
  int threads = 1;
  DeviceChoice device = DeviceChoice::kAuto;
  double cost = 1;  // cost of an epoch
  int retries = 0;
  bool deterministic = false;
  double grace_s = 20;
  std::uint64_t log_limit_bytes = std::uint64_t{1} << 20U;
  std::uint64_t folder_limit_bytes = std::uint64_t{10} << 30U;
  bool inherit = false;
  ProcessLimits limits = {};
  std::vector<NamedText> variables = {};  // `env`
  std::vector<std::string> passed = {};   // `pass`: names of variables
  std::vector<std::string> prepare = {};  // program and arguments; empty if there is nothing to prepare
  std::optional<double> prepare_timeout_s = 3600;
  std::optional<std::uint32_t> processes = {};
  CommandLaunch launch = CommandLaunch::kProcess;
  std::optional<CommandFramework> framework = {};
  std::uint32_t parameter_servers = 0;
  std::optional<PortRange> ports = {};  // default_ports() unless given

  /// Returns whether a trial's processes are told about each other.
  bool forms_groups() const { return processes || framework || launch != CommandLaunch::kProcess; }
  CommandFramework framework_or_default() const;
  /// Returns the trainer's program and arguments: `run`, or those of a Python that calls the function.
  std::vector<std::string> trainer() const;
  bool forks() const { return python && start == FunctionStart::kFork; }
  static const OptionTable<CommandOptions>& table();
};

/// Returns the key of the section, or the section itself if the key is not written.
const ConfigNode& key_or_section(const ConfigNode& section, std::string_view key);

/// Returns the metrics of the section: those that the trainer reports, then those that are measured after it.
std::vector<trial::Metric> metrics_of(const CommandOptions& options);

}  // namespace skyline::evaluate
