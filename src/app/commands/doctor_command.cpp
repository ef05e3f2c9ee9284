// `skyline doctor`: tries everything that a search will need on this machine or job, and says what to change.
#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/config_file.hpp"
#include "app/config/configuration_warnings.hpp"
#include "app/config/run_config.hpp"
#include "app/doctor/doctor_checks.hpp"
#include "app/job/data_stage.hpp"
#include "app/job/host_difference.hpp"
#include "app/job/stop_request.hpp"
#include "comm/agreement.hpp"
#include "comm/environment.hpp"
#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/system/temporary_folder.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "machine/node.hpp"
#include "store/publish/publish.hpp"
#include "train/loading/load_accelerator.hpp"
#include "train/loading/load_training.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

namespace skyline::app {
namespace {

struct DoctorArguments {
  std::filesystem::path config;  // empty if none is checked
  std::filesystem::path run;     // empty if no folder is tried
  std::optional<int> threads;    // threads of a slot; if not given, the configuration's, or 1
  std::optional<double> start_timeout_s = kStartTimeout_s;  // no value: wait for ever
  std::vector<std::string> overrides;
};

bool is_first_of_node(comm::Environment& environment) {
  return environment.place().local_rank == 0;
}

/// Reads the configuration, if one is named; mistakes in it become findings.
std::optional<RunConfig> read_config(const DoctorArguments& arguments, bool verify_data,
                                     std::vector<Finding>& findings) {
  if (arguments.config.empty()) return std::nullopt;
  try {
    const ConfigNode root = load_config(arguments.config, arguments.overrides);
    RunConfig config = RunConfig::parse(root, verify_data);
    findings.push_back({Verdict::kGood, "configuration", arguments.config.string() + " is valid", ""});
    return config;
  } catch (const Problem& error) {
    for (const std::string& line : error_lines(error)) {
      findings.push_back({Verdict::kProblem, "configuration", line, ""});
    }
    return std::nullopt;
  }
}

std::optional<Finding> check_temporary_folder() {
  const std::filesystem::path folder = temporary_root();
  std::error_code failure;
  const std::filesystem::space_info space = std::filesystem::space(folder, failure);
  return judge_temporary_folder(folder, failure ? std::nullopt : std::optional(space.available),
                                why_not_writable(folder));
}

/// Checks what the node offers its ranks. The first rank of a node calls this.
void check_node(comm::Environment& environment, const machine::NodeLimits& limits,
                std::vector<Finding>& findings) {
  const comm::NodePlace& place = environment.place();
  const std::vector<Finding> cores = judge_node_cores(place, limits, environment.launch().launcher);
  findings.insert(findings.end(), cores.begin(), cores.end());
  findings.push_back(judge_memory(place.local_size, limits));
  for (auto& finding : {judge_shared_memory(place.local_size, limits), check_temporary_folder(),
                        judge_processes(place.local_size, process_limit_of_groups("/")),
                        judge_open_files(environment.world().size(), limits)}) {
    if (finding) findings.push_back(*finding);
  }
}

std::optional<Finding> check_data_size(const std::optional<RunConfig>& config,
                                       const machine::NodeLimits& limits) {
  if (!config || config->sections.data.file.empty()) return std::nullopt;
  const std::string& file = config->sections.data.file;
  std::error_code failure;
  const std::uintmax_t bytes = std::filesystem::file_size(file, failure);
  return failure ? std::nullopt : judge_data_size(file, bytes, limits);
}

/// Checks GPUs and the network between nodes. Collective.
void check_machine(comm::Environment& environment, const std::optional<RunConfig>& config,
                   const machine::NodeLimits& limits, std::vector<Finding>& findings) {
  // Most runs train, and a configuration that does not mention devices uses a GPU if there is one.
  const evaluate::EvaluatorNeeds needs =
      config ? config->evaluator.needs : evaluate::EvaluatorNeeds{.device = evaluate::DeviceChoice::kAuto};
  const machine::RankView mine = check_devices(environment, needs, train::load_accelerator, "/", findings);
  if (!is_first_of_node(environment)) return;
  const std::vector<Finding> fabric =
      judge_fabric(read_fabric_facts(mine, environment.place().node_count, limits, "/"));
  findings.insert(findings.end(), fabric.begin(), fabric.end());
}

/// Checks settings that would leave this job's slots idle. A GPU counts as one slot. Collective.
void check_traps(comm::Environment& environment, const std::optional<RunConfig>& config, int threads,
                 std::vector<Finding>& findings) {
  const bool on_cpu = !config || config->evaluator.needs.device == evaluate::DeviceChoice::kNone ||
                      config->evaluator.needs.device == evaluate::DeviceChoice::kCpu;
  const std::size_t cores = environment.place().processors.size() / static_cast<std::size_t>(threads);
  const std::string here = std::to_string(on_cpu ? std::max<std::size_t>(1, cores) : 1);
  JobSize size{0, 0};
  for (const std::string& slots : comm::gather(environment.world(), here)) {
    *size.slots += std::stoul(slots);
    ++*size.ranks;
  }
  if (!config || environment.world().rank() != comm::kCoordinator) return;
  try {
    const auto searcher = config->make_searcher();
    const auto evaluator = config->make_evaluator(config->services());
    for (const std::string& trap : configuration_warnings(*config, *searcher, evaluator.get(), size)) {
      findings.push_back({Verdict::kWarning, "search", trap,
                          "skyline simulate CONFIG --slots " + std::to_string(*size.slots) +
                              " tells how busy they would be"});
    }
  } catch (const Problem& error) {
    findings.push_back({Verdict::kProblem, "search", error.what(), ""});
  }
}

/// Prints the findings. Returns the exit code.
/// @param by_rank  findings of each rank
/// @param hosts    host of each rank
int print_findings(std::span<const std::vector<Finding>> by_rank, const std::vector<std::string>& hosts) {
  const std::vector<SharedFinding> findings = merge_findings(by_rank, hosts);
  const std::size_t host_count = std::set<std::string>(hosts.begin(), hosts.end()).size();
  std::cout << printable(findings_text(findings, host_count), "\n");
  const auto count = [&](Verdict verdict) {
    return std::ranges::count_if(
        findings, [&](const SharedFinding& shared) { return shared.finding.verdict == verdict; });
  };
  const auto problems = count(Verdict::kProblem);
  std::cout << "doctor: " << counted(problems, "problem") << ", " << count(Verdict::kWarning) << " to look at"
            << (problems == 0 ? ": a search can start" : "") << std::endl;
  return problems == 0 ? kExitDone : kExitUserError;
}

/// Runs all checks. Collective.
int diagnose(comm::Environment& environment, const DoctorArguments& arguments) {
  std::vector<Finding> findings{check_launcher(environment)};
  if (const auto version = version_difference(environment)) {
    findings.push_back({Verdict::kProblem, "version", *version, "install one version on all hosts"});
  }
  const bool first_of_node = is_first_of_node(environment);
  auto config = read_config(arguments, first_of_node, findings);
  if (const auto data = data_difference(environment, config ? &*config : nullptr)) {
    findings.push_back({Verdict::kProblem, "data", *data, "copy one file to all of them"});
  }
  const int threads = arguments.threads.value_or(config ? config->engine_options().threads_per_slot : 1);
  findings.push_back(judge_cores(environment.place(), threads, environment.launch().launcher));
  const machine::NodeLimits limits = machine::read_node_limits("/");
  if (first_of_node) {
    check_node(environment, limits, findings);
    if (const auto time = check_time_left(environment.launch(), unix_now_s())) findings.push_back(*time);
    if (const auto size = check_data_size(config, limits)) findings.push_back(*size);
    if (const auto stage = config ? check_stage(*config) : std::nullopt) findings.push_back(*stage);
  }
  try {
    if (config && config->evaluator.kind->load) config->evaluator.kind->load();
  } catch (const UserError& error) {
    findings.push_back({Verdict::kProblem, "training", error.what(), ""});
  }
  if (const auto torch = host_difference(environment, train::torch_version())) {
    findings.push_back({Verdict::kProblem, "LibTorch", *torch, "install one version on all hosts"});
  }
  check_machine(environment, config, limits, findings);
  check_traps(environment, config, threads, findings);
  if (!arguments.run.empty()) check_folder(environment, arguments.run, findings);
  comm::Communicator& world = environment.world();
  const std::vector<std::vector<Finding>> by_rank = comm::gather(world, findings);
  int code = kExitDone;
  if (world.rank() == comm::kCoordinator) code = print_findings(by_rank, environment.hosts());
  return comm::share(world, code);
}

}  // namespace

RunCommand doctor_command(CLI::App& command) {
  const auto arguments = std::make_shared<DoctorArguments>();
  add_path(command, "config", arguments->config, "configuration to check as well, YAML");
  add_path(command, "--run", arguments->run, "run folder to try, made if it is not there");
  command.add_option("--threads", arguments->threads, "threads of a slot (default: the configuration's)")
      ->check(whole_number(1, kMostThreads));
  add_start_timeout(command, arguments->start_timeout_s);
  command.add_option("--set", arguments->overrides, "replace a setting")->allow_extra_args(false);
  return [arguments] {
    const auto environment = comm::Environment::start({.timeout_s = arguments->start_timeout_s});
    log::start({.file = "", .prefix = "", .terminal_level = log::Level::kError});
    try {
      return diagnose(*environment, *arguments);
    } catch (const std::exception& error) {
      return end_all_ranks(*environment, error, exit_code_of(error), {});
    }
  };
}

}  // namespace skyline::app
