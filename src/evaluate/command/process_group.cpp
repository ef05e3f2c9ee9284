#include "evaluate/command/process_group.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include <nlohmann/json.hpp>

namespace skyline::evaluate {
namespace {

using trial::Failure;
using trial::FailureKind;

constexpr std::chrono::milliseconds kPollOfGroup(20);

/// A variable of a framework.
struct GroupVariable {
  CommandFramework framework;
  const char* name;
  const char* placeholder;                       // the one with the same value
  CommandLaunch last = CommandLaunch::kProcess;  // it is set with this launch and those before it
};

/// Scripts written for Azure's MPI jobs read the variables of torch and of Azure. MPI itself cannot connect
/// by them.
std::span<const GroupVariable> framework_variables() {
  using enum CommandFramework;
  using enum CommandLaunch;
  static constexpr GroupVariable kVariables[] = {
      {kTorch, "MASTER_ADDR", "master_addr", kNode},
      {kTorch, "MASTER_PORT", "master_port", kNode},
      {kTorch, "NODE_RANK", "node_rank", kNode},
      {kTorch, "RANK", "rank"},
      {kTorch, "WORLD_SIZE", "world_size"},
      {kTorch, "LOCAL_RANK", "local_rank"},
      {kTorch, "LOCAL_WORLD_SIZE", "processes_per_node"},
      {kAzure, "OMPI_COMM_WORLD_RANK", "rank"},
      {kAzure, "OMPI_COMM_WORLD_SIZE", "world_size"},
      {kAzure, "OMPI_COMM_WORLD_LOCAL_RANK", "local_rank"},
      {kAzure, "OMPI_COMM_WORLD_LOCAL_SIZE", "processes_per_node"},
      {kAzure, "AZ_BATCH_MASTER_NODE", "master"},
      {kAzure, "AZ_BATCHAI_MPI_MASTER_NODE", "master_addr"},
      {kTensorflow, "TF_CONFIG", "cluster"},
  };
  return kVariables;
}

bool is_of(const GroupVariable& variable, CommandFramework framework) {
  return variable.framework == framework ||
         (variable.framework == CommandFramework::kTorch && framework == CommandFramework::kAzure);
}

std::string text_of(const Rendezvous::End& end) {
  const bool is_ipv6 = end.address.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + end.address + "]" : end.address) + ":" + std::to_string(end.port);
}

/// Returns TensorFlow's description of a cluster, and of the process in it.
std::string tensorflow_cluster(std::size_t servers, const ProcessPlace& place, const Rendezvous& rendezvous) {
  nlohmann::ordered_json cluster;
  for (std::size_t rank = 0; rank < rendezvous.ends.size(); ++rank) {
    cluster[rank < servers ? "ps" : "worker"].push_back(text_of(rendezvous.ends[rank]));
  }
  const bool serves = place.rank < servers;
  return nlohmann::ordered_json{
      {"cluster", cluster},
      {"task", {{"type", serves ? "ps" : "worker"}, {"index", place.rank - (serves ? 0 : servers)}}},
      {"environment", "cloud"}}
      .dump();
}

/// The number that one process of all sums up: none of them has failed.
class AllEnded {
 public:
  explicit AllEnded(trial::TrialGroup& group) : operation_(group.all_reduce(std::span(&nothing_, 1))) {}
  bool test() { return operation_->test(); }

 private:
  float nothing_ = 0;
  std::unique_ptr<trial::TrialGroup::Operation> operation_;
};

}  // namespace

std::vector<ProcessPlace> process_places(const std::vector<int>& node_of) {
  std::vector<int> nodes;
  for (const int node : node_of) {
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  }
  std::vector<ProcessPlace> places;
  std::vector<std::size_t> on_node(nodes.size(), 0);
  for (const int node : node_of) {
    const auto number = static_cast<std::size_t>(std::ranges::find(nodes, node) - nodes.begin());
    places.push_back({.rank = places.size(),
                      .processes = node_of.size(),
                      .local_rank = on_node[number]++,
                      .node_rank = number,
                      .nodes = nodes.size()});
  }
  for (ProcessPlace& place : places) place.local_processes = on_node[place.node_rank];
  return places;
}

Variables group_variables(const CommandOptions& options, const ProcessPlace& place,
                          const Rendezvous& rendezvous) {
  if (!options.forms_groups()) return {};
  Variables values = group_placeholders(CommandLaunch::kProcess, place, rendezvous);
  if (!rendezvous.ends.empty()) values["master"] = text_of(rendezvous.ends.front());
  values["cluster"] = tensorflow_cluster(options.parameter_servers, place, rendezvous);
  Variables variables;
  for (const GroupVariable& variable : framework_variables()) {
    if (!is_of(variable, options.framework_or_default()) || options.launch > variable.last) continue;
    variables[variable.name] = values[variable.placeholder];
  }
  return variables;
}

Variables group_placeholders(CommandLaunch launch, const ProcessPlace& place, const Rendezvous& rendezvous) {
  const Rendezvous::End first = rendezvous.ends.empty() ? Rendezvous::End{} : rendezvous.ends.front();
  Variables values{{"world_size", std::to_string(place.processes)},
                   {"nodes", std::to_string(place.nodes)},
                   {"processes_per_node", std::to_string(place.local_processes)}};
  if (launch == CommandLaunch::kMpirun) return values;
  values["node_rank"] = std::to_string(place.node_rank);
  values["master_addr"] = first.address;
  values["master_port"] = std::to_string(first.port);
  if (launch == CommandLaunch::kNode) return values;
  values["rank"] = std::to_string(place.rank);
  values["local_rank"] = std::to_string(place.local_rank);
  return values;
}

bool is_set_for_trainer(const CommandOptions& options, const std::string& name) {
  if (name.starts_with("SKYLINE_")) return true;
  return options.forms_groups() &&
         std::ranges::any_of(framework_variables(), [&](const GroupVariable& variable) {
           return variable.name == name && is_of(variable, options.framework_or_default());
         });
}

trial::Outcome ask_together(trial::TrialGroup* group, const std::function<trial::Outcome()>& ask) {
  const bool leads = group == nullptr || group->member() == 0;
  trial::Outcome asked = leads ? ask() : trial::Measurements{};
  if (group == nullptr) return asked;
  if (const auto* failure = std::get_if<Failure>(&asked)) {
    group->abort(*failure);
    return asked;
  }
  std::byte is_outside{trial::is_outside(asked)};
  group->broadcast(std::span(&is_outside, 1));
  if (!leads && is_outside != std::byte{0})
    return trial::Measurements{.values = {}, .extent = trial::Extent::kOutside};
  return asked;
}

trial::Outcome wait_for_members(trial::EvaluationContext& context, trial::Outcome outcome) {
  trial::TrialGroup* const group = context.group();
  if (group == nullptr || std::holds_alternative<Failure>(outcome)) return outcome;
  // Member 0 may be measuring, or wait for its turn: the time of the others does not count meanwhile.
  std::optional<trial::TrialWait> wait;
  if (group->member() != 0) wait.emplace(context, &trial::TrialTiming::wait_ranks_s);
  AllEnded all(*group);
  while (!all.test()) {
    if (group->member() == 0 && context.control().stop_requested()) {
      const Failure stopped{FailureKind::kStopped, "stopped on request"};
      group->abort(stopped);
      return stopped;
    }
    std::this_thread::sleep_for(kPollOfGroup);
  }
  return outcome;
}

}  // namespace skyline::evaluate
