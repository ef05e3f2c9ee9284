#include "evaluate/command/process_group.hpp"

#include "trial/scope_timer.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

namespace skyline::evaluate {
namespace {

using trial::Failure;
using trial::FailureKind;

constexpr std::chrono::milliseconds kPollOfGroup(20);

std::string text_of(const Meeting::End& end) {
  const bool is_ipv6 = end.address.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + end.address + "]" : end.address) + ":" + std::to_string(end.port);
}

/// Returns TensorFlow's description of a cluster, and of the process in it.
std::string tensorflow_cluster(std::size_t servers, const ProcessPlace& place, const Meeting& meeting) {
  nlohmann::ordered_json cluster;
  for (std::size_t rank = 0; rank < meeting.ends.size(); ++rank) {
    cluster[rank < servers ? "ps" : "worker"].push_back(text_of(meeting.ends[rank]));
  }
  const bool serves = place.rank < servers;
  return nlohmann::ordered_json{
      {"cluster", cluster},
      {"task", {{"type", serves ? "ps" : "worker"}, {"index", place.rank - (serves ? 0 : servers)}}},
      {"environment", "cloud"}}
      .dump();
}

Variables torch_variables(const ProcessPlace& place, const Meeting::End& first) {
  return {{"MASTER_ADDR", first.address},
          {"MASTER_PORT", std::to_string(first.port)},
          {"RANK", std::to_string(place.rank)},
          {"WORLD_SIZE", std::to_string(place.processes)},
          {"LOCAL_RANK", std::to_string(place.local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(place.local_processes)},
          {"NODE_RANK", std::to_string(place.node_rank)}};
}

/// Returns the names that scripts written for Azure's MPI jobs read. MPI itself cannot connect by them.
Variables azure_variables(const ProcessPlace& place, const Meeting::End& first) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(place.rank)},
          {"OMPI_COMM_WORLD_SIZE", std::to_string(place.processes)},
          {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(place.local_rank)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(place.local_processes)},
          {"AZ_BATCH_MASTER_NODE", text_of(first)},
          {"AZ_BATCHAI_MPI_MASTER_NODE", first.address}};
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

Variables group_variables(const CommandOptions& options, const ProcessPlace& place, const Meeting& meeting) {
  if (!options.forms_groups()) return {};
  const Meeting::End first = meeting.ends.empty() ? Meeting::End{} : meeting.ends.front();
  switch (options.framework_or_default()) {
    case CommandFramework::kMpi:
      return {};
    case CommandFramework::kTensorflow:
      return {{"TF_CONFIG", tensorflow_cluster(options.parameter_servers, place, meeting)}};
    case CommandFramework::kTorch:
    case CommandFramework::kAzure:
      break;
  }
  Variables variables = torch_variables(place, first);
  if (options.launch == CommandLaunch::kNode) {
    std::erase_if(variables, [](const auto& each) {
      return each.first != "MASTER_ADDR" && each.first != "MASTER_PORT" && each.first != "NODE_RANK";
    });
  }
  if (options.framework_or_default() == CommandFramework::kAzure) {
    variables.merge(azure_variables(place, first));
  }
  return variables;
}

Variables group_placeholders(CommandLaunch launch, const ProcessPlace& place, const Meeting& meeting) {
  const Meeting::End first = meeting.ends.empty() ? Meeting::End{} : meeting.ends.front();
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
  if (!options.forms_groups()) return false;
  CommandOptions full = options;
  full.launch = CommandLaunch::kProcess;  // with `launch: node` some of its variables must not exist
  return group_variables(full, {}, {}).contains(name);
}

trial::Outcome settle(trial::EvaluationContext& context, trial::Outcome outcome) {
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
