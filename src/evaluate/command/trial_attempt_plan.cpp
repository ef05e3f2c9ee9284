#include "skyline/core/error.hpp"

#include "evaluate/command/command_check.hpp"
#include "evaluate/command/placeholders.hpp"
#include "evaluate/command/program_place.hpp"
#include "evaluate/command/trial_attempt.hpp"
#include "evaluate/process/host_address.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

namespace skyline::evaluate {

namespace fs = std::filesystem;

/// Tells every member of the trial the address and the port of each.
Rendezvous TrialAttempt::exchange_rendezvous() const {
  std::vector<double> numbers(2 * place_.processes, 0);
  Ipv4 address = kLoopback;
  if (place_.nodes > 1) {
    const std::optional<Ipv4> own = address_of_host();
    if (!own) throw FaultError("no network interface of this host has an IPv4 address");
    address = *own;
  }
  numbers[2 * place_.rank] = address;
  numbers[2 * place_.rank + 1] = port_ ? port_->number() : 0;
  if (group_ != nullptr) group_->sum(numbers);
  Rendezvous rendezvous;
  for (std::size_t rank = 0; rank < place_.processes; ++rank) {
    rendezvous.ends.push_back(
        {dotted(static_cast<Ipv4>(numbers[2 * rank])), static_cast<int>(numbers[2 * rank + 1])});
  }
  return rendezvous;
}

Variables TrialAttempt::placeholders() const {
  Variables values = trial_placeholders(host_.services, trial_, folder_, files_);
  values.merge(group_placeholders(host_.options.launch, place_, rendezvous_));
  return values;
}

std::vector<std::string> TrialAttempt::arguments(const Variables& values) const {
  std::vector<std::string> arguments = filled(host_.options.trainer(), values);
  arguments.front() = host_.program.empty()
                          ? find_program(arguments.front(), path_of_trainer(host_.options)).string()
                          : host_.program.string();
  return host_.options.launch == CommandLaunch::kMpirun ? nested_mpirun(arguments) : arguments;
}

/// Returns the arguments of an mpirun that starts a process for each member on the member's host.
std::vector<std::string> TrialAttempt::nested_mpirun(const std::vector<std::string>& arguments) const {
  const std::string path = path_of_trainer(host_.options);
  std::string hosts = "localhost:" + std::to_string(place_.processes);
  if (place_.nodes > 1) {
    hosts.clear();
    for (const ProcessPlace& each : places_) {
      if (each.local_rank > 0) continue;
      hosts += (hosts.empty() ? "" : ",") + group_->place_of(each.rank).host + ":" +
               std::to_string(each.local_processes);
    }
    try {
      (void)find_program("ssh", path);
    } catch (const UserError& reason) {
      throw FaultError("launch: mpirun: the processes of this trial are on several hosts, " + hosts +
                       ", and nothing starts them there: " + reason.what());
    }
  }
  std::vector<std::string> all{find_program("mpirun", path).string(),
                               "-np",
                               std::to_string(place_.processes),
                               "--host",
                               hosts,
                               "--bind-to",
                               "none"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

/// Returns the variables of a program of this trial, without those of a group.
Variables TrialAttempt::variables(const std::vector<std::string>& devices) const {
  Variables variables = trainer_variables(host_, folder_.temporary(), devices);
  variables["SKYLINE_FOLDER"] = files_.path.string();
  variables["SKYLINE_RESUMED"] = files_.resumed ? "1" : "0";
  if (!files_.parent.empty()) variables["SKYLINE_PARENT_FOLDER"] = files_.parent.string();
  if (decisions_.are_made()) variables[kDecisionVariable] = decisions_.file().string();
  return variables;
}

ProcessPlan TrialAttempt::plan() const {
  const CommandOptions& options = host_.options;
  const bool has_others = options.launch != CommandLaunch::kProcess;
  std::set<std::string> devices;
  for (const ProcessPlace& each : places_) {
    const bool is_here = each.rank == place_.rank || (has_others && each.node_rank == place_.node_rank);
    if (!is_here) continue;
    const trial::Place place = group_ == nullptr ? context_.place() : group_->place_of(each.rank);
    devices.insert(place.devices.begin(), place.devices.end());
  }
  Variables all = variables({devices.begin(), devices.end()});
  for (const auto& [name, value] : group_variables(options, place_, rendezvous_)) all[name] = value;
  if (options.launch == CommandLaunch::kMpirun && geteuid() == 0) {
    all["OMPI_ALLOW_RUN_AS_ROOT"] = all["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  }
  return {.arguments = arguments(placeholders()),
          .variables = all,
          .folder = fs::current_path(),
          .log = log_,
          .log_limit = options.log_limit_bytes,
          .report_file = folder_.report(),
          .limits = options.limits,
          .grace_s = options.grace_s};
}

}  // namespace skyline::evaluate
