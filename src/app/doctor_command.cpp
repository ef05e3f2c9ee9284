// `skyline doctor`: tries everything that a search will need on this machine or job, and says what to change.
#include "skyline/app/commands.hpp"
#include "skyline/app/config_file.hpp"
#include "skyline/app/run_config.hpp"
#include "skyline/comm/environment.hpp"
#include "skyline/core/error.hpp"
#include "skyline/core/log.hpp"
#include "skyline/store/publish.hpp"
#include "skyline/train/accelerator.hpp"

#include "app/data_stage.hpp"
#include "app/doctor_checks.hpp"
#include "app/version_agreement.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <set>
#include <thread>

namespace skyline::app {
namespace {

constexpr int kCoordinator = 0;
// An NFS client may look again at a folder only after its attribute cache has expired.
constexpr std::chrono::seconds kMostCacheAge{35};

bool is_first_of_node(comm::Environment& environment) {
  return environment.place().local_rank == 0;
}

/// The configuration, if one is named; what is wrong with it is a finding.
std::optional<RunConfig> read_config(const DoctorArguments& arguments, bool verify_data,
                                     std::vector<Finding>& findings) {
  if (arguments.config.empty()) return std::nullopt;
  try {
    ConfigNode root = load_yaml_file(arguments.config);
    for (const std::string& assignment : arguments.overrides) apply_override(root, assignment);
    RunConfig config = RunConfig::parse(root, verify_data);
    findings.push_back({Verdict::kGood, "configuration", arguments.config.string() + " is valid", ""});
    return config;
  } catch (const UserError& error) {
    findings.push_back({Verdict::kProblem, "configuration", error.what(), ""});
    return std::nullopt;
  }
}

Finding check_gpu() {
  std::string reason;
  const std::shared_ptr<train::Accelerator> accelerator = train::load_accelerator(reason);
  if (accelerator == nullptr) return {Verdict::kNote, "GPU", "none will be used: " + reason, ""};
  std::string text;
  for (const train::AcceleratorDevice& device : accelerator->devices()) {
    text += (text.empty() ? "" : ", ") + device.name;
  }
  return {Verdict::kGood, "GPU", text, ""};
}

/// Collective: whether every node sees what rank 0 writes.
void check_shared(comm::Environment& environment, const std::filesystem::path& folder,
                  std::vector<Finding>& findings) {
  comm::Communicator& world = environment.world();
  if (environment.place().node_count == 1) return;
  const std::filesystem::path marker = folder / ".skyline-doctor-shared";
  std::string written;
  if (world.rank() == kCoordinator) {
    try {
      store::publish_file(marker, "seen");
      written = "yes";
    } catch (const UserError&) {  // the trial of the folder has said why
    }
  }
  if (comm::broadcast_text(world, written, kCoordinator).empty()) return;
  const auto deadline = std::chrono::steady_clock::now() + kMostCacheAge;
  bool seen = store::exists(marker);
  while (is_first_of_node(environment) && !seen && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    seen = store::exists(marker);
  }
  if (is_first_of_node(environment)) {
    findings.push_back(
        seen ? Finding{Verdict::kGood, "run folder", folder.string() + ": seen by all nodes", ""}
             : Finding{Verdict::kProblem, "run folder",
                       folder.string() + ": does not show what rank 0 wrote there",
                       "all nodes must see the same folder: use one on NFS or the like"});
  }
  comm::wait(*world.barrier());
  if (world.rank() == kCoordinator) store::remove_file(marker);
}

/// Collective.
void check_folder(comm::Environment& environment, const std::filesystem::path& folder,
                  std::vector<Finding>& findings) {
  if (is_first_of_node(environment)) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      findings.push_back({Verdict::kProblem, "run folder",
                          folder.string() + ": cannot be made: " + error.message(),
                          "choose a folder that you may write to"});
    } else {
      const std::vector<Finding> judged = judge_folder(folder, store::try_folder(folder));
      findings.insert(findings.end(), judged.begin(), judged.end());
    }
  }
  comm::wait(*environment.world().barrier());
  check_shared(environment, folder, findings);
}

/// Collective: all findings on rank 0.
std::vector<SharedFinding> gather_findings(comm::Environment& environment, std::span<const Finding> findings,
                                           std::size_t& host_count) {
  comm::Communicator& world = environment.world();
  const std::vector<std::string> messages = comm::gather_texts(world, to_message(findings), kCoordinator);
  const std::vector<std::string> hosts = comm::gather_texts(world, environment.place().host, kCoordinator);
  std::vector<std::vector<Finding>> by_rank;
  for (const std::string& message : messages) by_rank.push_back(from_message(message));
  host_count = std::set<std::string>(hosts.begin(), hosts.end()).size();
  return merge_findings(by_rank, hosts);
}

int print_findings(std::span<const SharedFinding> findings, std::size_t host_count) {
  std::cout << findings_text(findings, host_count);
  const auto count = [&](Verdict verdict) {
    return std::ranges::count_if(
        findings, [&](const SharedFinding& shared) { return shared.finding.verdict == verdict; });
  };
  const auto problems = count(Verdict::kProblem);
  std::cout << "doctor: " << problems << (problems == 1 ? " problem, " : " problems, ")
            << count(Verdict::kWarning) << " to look at" << (problems == 0 ? ": a search can start" : "")
            << std::endl;
  return problems == 0 ? kExitDone : kExitUserError;
}

}  // namespace

int run_doctor(const DoctorArguments& arguments) {
  const auto environment =
      comm::Environment::start({.timeout_s = arguments.start_timeout_s, .timeout_code = kExitStopped});
  log::start({.file = "", .prefix = "", .terminal_level = log::Level::kError});
  std::vector<Finding> findings{check_mpi(*environment)};
  if (const auto version = version_difference(*environment)) {
    findings.push_back({Verdict::kProblem, "version", *version, "install one version on all hosts"});
  }
  const bool first_of_node = is_first_of_node(*environment);
  const auto config = read_config(arguments, first_of_node, findings);
  if (const auto data = data_difference(*environment, config ? config->data.file : "")) {
    findings.push_back({Verdict::kProblem, "data", *data, "copy one file to all of them"});
  }
  const int threads = arguments.threads.value_or(config ? config->engine.threads_per_slot : 1);
  findings.push_back(check_cores(environment->place(), threads));
  if (first_of_node) {
    findings.push_back(check_memory(environment->place()));
    findings.push_back(check_gpu());
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    if (const auto time = check_time_left(environment->launch(), now.count())) findings.push_back(*time);
    if (const auto stage = config ? check_stage(*config) : std::nullopt) findings.push_back(*stage);
  }
  if (!arguments.run.empty()) check_folder(*environment, arguments.run, findings);
  std::size_t host_count = 0;
  const std::vector<SharedFinding> shared = gather_findings(*environment, findings, host_count);
  std::string code;
  if (environment->world().rank() == kCoordinator) code = std::to_string(print_findings(shared, host_count));
  return std::stoi(comm::broadcast_text(environment->world(), code, kCoordinator));
}

}  // namespace skyline::app
