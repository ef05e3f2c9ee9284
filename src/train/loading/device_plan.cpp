#include "train/loading/device_plan.hpp"

#include "core/text/wording.hpp"
#include "machine/node.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace skyline::train {
namespace {

using machine::HostText;
using machine::RankBinding;
using machine::RankView;

/// A node's ranks and their bindings.
struct Node {
  std::vector<RankView> ranks;
  std::vector<RankBinding> bindings;
};

std::vector<Node> nodes_of(const std::vector<RankView>& ranks, const std::vector<RankBinding>& bindings) {
  std::vector<Node> nodes;
  for (const std::vector<std::size_t>& members : machine::ranks_of_nodes(ranks)) {
    Node& node = nodes.emplace_back();
    for (const std::size_t rank : members) {
      node.ranks.push_back(ranks[rank]);
      node.bindings.push_back(bindings[rank]);
    }
  }
  return nodes;
}

/// Returns the ranks that train and have (or have not) a device, each with its reason, as "node01", or as
/// "rank 3 of node01" if the ranks of the node differ.
std::vector<HostText> trainers(const std::vector<RankView>& ranks, bool with_device) {
  const auto has_device = [](const RankView& rank) { return !rank.devices.empty(); };
  std::vector<HostText> found;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankView& rank = ranks[i];
    if (!rank.trains || has_device(rank) != with_device) continue;
    const bool alike = std::ranges::none_of(ranks, [&](const RankView& other) {
      return other.node == rank.node && other.trains && has_device(other) != with_device;
    });
    found.push_back({alike ? rank.host : "rank " + std::to_string(i) + " of " + rank.host, rank.reason});
  }
  return found;
}

/// Returns e.g. "node01: no driver; node02: compute mode prohibited".
std::string with_reasons(const std::vector<HostText>& ranks) {
  return joined(machine::lines_by_host(ranks), "; ");
}

std::string names(const std::vector<HostText>& ranks) {
  std::vector<std::string> hosts;
  for (const HostText& rank : ranks) hosts.push_back(rank.host);
  return machine::host_list(hosts);
}

std::string find_problem(DeviceChoice choice, std::string_view begun, const std::vector<HostText>& with,
                         const std::vector<HostText>& without) {
  if (without.empty()) return {};
  if (choice == DeviceChoice::kAuto && begun == "gpu") {
    return "the run began on GPUs and goes on there alone, and not every rank has one: " +
           with_reasons(without) + "; start ranks where there are GPUs, or begin a run in another folder";
  }
  if (choice == DeviceChoice::kCuda) {
    return "`training.device` is cuda, and not every rank has a GPU: " + with_reasons(without);
  }
  if (choice == DeviceChoice::kCpu || with.empty()) return {};
  return "`training.device` is auto, and some ranks alone have a GPU, so that results would depend on where "
         "a "
         "trial runs: choose cpu, or start ranks where there are GPUs; with: " +
         names(with) + "; without: " + with_reasons(without);
}

/// Says why ranks train on the CPU; once, if the reason is the same everywhere.
void say_why_on_cpu(const std::vector<HostText>& without, std::vector<std::string>& lines) {
  std::set<std::string> reasons;
  for (const HostText& rank : without) reasons.insert(rank.text);
  if (reasons.size() == 1) {
    lines.push_back("training on the CPU: " + *reasons.begin());
  } else if (!reasons.empty()) {
    for (const std::string& line : machine::lines_by_host(without))
      lines.push_back("training on the CPU: " + line);
  }
}

/// Warns about GPUs of several kinds: kernels are chosen by the kind, and kinds add in different orders.
void warn_of_kinds(const std::vector<RankView>& ranks, std::vector<std::string>& warnings) {
  std::vector<HostText> kinds;
  for (const RankView& rank : ranks) {
    for (const machine::DeviceView& device : rank.devices) kinds.push_back({rank.host, device.name});
  }
  const std::vector<std::string> lines = machine::lines_by_host(kinds);
  if (lines.size() < 2) return;
  warnings.push_back("GPUs of several kinds: results may depend on where a trial runs (" +
                     joined(lines, "; ") + ")");
}

/// Finds two ranks that got one device, although only one process can use it, or they train together.
std::string find_shared(const std::vector<Node>& nodes, bool groups) {
  for (const Node& node : nodes) {
    std::set<std::string> taken;
    for (std::size_t i = 0; i < node.ranks.size(); ++i) {
      if (node.bindings[i].device < 0) continue;
      const machine::DeviceView& device =
          node.ranks[i].devices[static_cast<std::size_t>(node.bindings[i].device)];
      // NCCL knows a GPU by its address alone, which its MIG instances share.
      const std::string& identity = device.identity;
      const std::string gpu_of_group = groups ? identity.substr(0, identity.find(' ')) : identity;
      if (taken.insert(gpu_of_group).second || !(device.exclusive || groups)) continue;
      const std::string gpu = node.ranks[i].host + ": GPU " + device.identity + " (" + device.name + ") ";
      return device.exclusive ? gpu +
                                    "is in compute mode Exclusive_Process and would have several ranks: "
                                    "start one rank a GPU, or nvidia-smi -c DEFAULT"
                              : gpu +
                                    "would have several ranks, and the members of a group "
                                    "(`training.group`) need one each: start one rank a GPU";
    }
  }
  return {};
}

/// Returns the ranks with their devices removed, because the run began on CPUs.
std::vector<RankView> without_devices(std::vector<RankView> ranks) {
  for (RankView& rank : ranks) {
    if (rank.devices.empty()) continue;
    rank.devices.clear();
    rank.reason = "the run began there";
  }
  return ranks;
}

void append(std::vector<std::string>& lines, std::vector<std::string> more) {
  std::ranges::move(more, std::back_inserter(lines));
}

}  // namespace

DevicePlan plan_devices(DeviceChoice choice, std::string_view begun, bool groups,
                        const std::vector<RankView>& ranks) {
  const std::vector<HostText> with = trainers(ranks, true);
  const std::vector<HostText> without = trainers(ranks, false);
  if (choice == DeviceChoice::kAuto && begun == "cpu" && !with.empty()) {
    DevicePlan plan = plan_devices(choice, begun, groups, without_devices(ranks));
    plan.warnings.push_back("the GPUs of " + names(with) +
                            " stay idle: the run began on the CPU, and another kind of device gives other "
                            "results; a run in another folder would use them");
    return plan;
  }
  DevicePlan plan;
  plan.problem = find_problem(choice, begun, with, without);
  if (!plan.problem.empty()) return plan;
  plan.on_gpus = !with.empty();
  plan.bindings = machine::bind_all_nodes(ranks);
  if (!plan.on_gpus) say_why_on_cpu(without, plan.lines);

  std::vector<HostText> gpus;
  std::vector<HostText> fabric;
  std::vector<HostText> warnings;
  const std::vector<Node> nodes = nodes_of(ranks, plan.bindings);
  plan.problem = find_shared(nodes, groups);
  if (!plan.problem.empty()) return plan;
  for (const Node& node : nodes) {
    const std::string& host = node.ranks.front().host;
    gpus.push_back({host, machine::describe_gpus(node.ranks, node.bindings)});
    fabric.push_back({host, machine::describe_fabric(node.ranks)});
    for (std::string& text : machine::binding_warnings(node.ranks, node.bindings, groups)) {
      warnings.push_back({host, std::move(text)});
    }
  }
  append(plan.lines, machine::lines_by_host(gpus));
  append(plan.fabric, machine::lines_by_host(fabric));
  append(plan.warnings, machine::lines_by_host(warnings));
  warn_of_kinds(ranks, plan.warnings);
  return plan;
}

}  // namespace skyline::train
