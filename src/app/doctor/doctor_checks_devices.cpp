#include "skyline/core/error.hpp"

#include "app/doctor/doctor_checks.hpp"
#include "comm/agreement.hpp"
#include "core/text/wording.hpp"
#include "store/publish/publish.hpp"
#include "train/loading/device_plan.hpp"
#include "train/loading/load_accelerator.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

namespace skyline::app {
namespace {

constexpr const char* kGpu = "GPU";

/// Returns the lines that a search would log, as findings.
std::vector<Finding> judge_plan(const train::DevicePlan& plan, bool needed) {
  if (!plan.problem.empty()) return {{needed ? Verdict::kProblem : Verdict::kNote, kGpu, plan.problem, ""}};
  std::vector<Finding> findings;
  for (const std::string& line : plan.lines) {
    findings.push_back({plan.on_gpus ? Verdict::kGood : Verdict::kNote, kGpu, line, ""});
  }
  for (const std::string& warning : plan.warnings) {
    findings.push_back({Verdict::kWarning, kGpu, warning, "docs/gpu.md, \"Binding and topology\""});
  }
  return findings;
}

/// Looks for devices. What ends a search is a finding here, and the doctor continues.
/// @param fault  set if the rank's GPU or the cuda module cannot be used
machine::RankView find_devices(const comm::NodePlace& place, const train::AcceleratorLoader& load,
                               bool needed, const std::filesystem::path& root,
                               std::optional<Finding>& fault) {
  std::string reason;
  std::shared_ptr<train::Accelerator> accelerator;
  const Verdict verdict = needed ? Verdict::kProblem : Verdict::kNote;
  try {
    accelerator = load(reason);
  } catch (const UserError& error) {  // a GPU that cannot be used is refused by `auto`, too
    reason = error.what();
    fault = {verdict, kGpu, reason, needed ? "or training.device: cpu" : ""};
  } catch (const std::exception& error) {
    reason = std::string("the cuda module fails: ") + error.what();
    fault = {verdict, kGpu, reason, needed ? "training.device: cpu does without it, and without GPUs" : ""};
  }
  return train::inspect_devices(place, accelerator.get(), reason, root);
}

namespace fs = std::filesystem;

constexpr const char* kAdapters = "adapters";
// buffers of MPI and NCCL are locked in memory
constexpr std::uint64_t kLeastLockedMemory = std::uint64_t{1} << 30;

bool any_usable(const machine::RankView& node) {
  return std::ranges::any_of(node.ports, &machine::FabricPort::usable);
}

Finding judge_ports(const FabricFacts& facts) {
  const std::vector<machine::FabricPort>& ports = facts.node.ports;
  if (ports.empty()) {
    return {facts.node_count > 1 ? Verdict::kNote : Verdict::kGood, kAdapters,
            std::string("no InfiniBand") + (facts.node_count > 1 ? ": nodes communicate by TCP" : ""), ""};
  }
  const std::string text = machine::describe_fabric({facts.node});
  if (std::ranges::any_of(ports,
                          [](const machine::FabricPort& port) { return port.active && !port.reachable; })) {
    return {Verdict::kWarning, kAdapters, text,
            "give the container its devices (docker --device=/dev/infiniband, rdma-core in the image), or "
            "this user the right to open them"};
  }
  if (!any_usable(facts.node)) {
    return {Verdict::kNote, kAdapters, text,
            "no port is active: ask the cluster's people if this node should have one"};
  }
  return {Verdict::kGood, kAdapters, text, ""};
}

/// Returns whether a module for direct transfers is loaded. The driver's open kernel modules need none, since
/// they export memory as dma-buf.
bool has_direct_transfers(const fs::path& root) {
  std::error_code ignored;
  if (fs::exists(root / "sys/module/nvidia_peermem", ignored)) return true;
  std::ifstream version(root / "proc/driver/nvidia/version");
  std::string line;
  return std::getline(version, line) && line.find("Open Kernel Module") != std::string::npos;
}

/// Returns whether the component of Open MPI can send through an adapter; others use sockets and memory.
bool is_for_fabric(const std::string& component) {
  static const std::set<std::string> kKnown{"pml_ucx",    "mtl_ofi", "mtl_psm2", "mtl_psm",
                                            "btl_openib", "btl_uct", "btl_ofi",  "pml_cm"};
  return kKnown.contains(component);
}

void judge_mpi(const FabricFacts& facts, std::vector<Finding>& findings) {
  if (facts.mpi_components.empty()) return;
  const std::string text = "sends by " + joined(facts.mpi_components);
  const bool idle = facts.node_count > 1 && any_usable(facts.node) &&
                    std::ranges::none_of(facts.mpi_components, is_for_fabric);
  if (idle) {
    findings.push_back(
        {Verdict::kNote, "MPI", text + ": messages between nodes go by TCP, not by InfiniBand",
         "groups of ranks on CPUs gain from an Open MPI with UCX (module load, --mca pml ucx); trials "
         "and results are small"});
  } else {
    findings.push_back({Verdict::kGood, "MPI", text, ""});
  }
}

}  // namespace

machine::RankView check_devices(comm::Environment& environment, const evaluate::EvaluatorNeeds& needs,
                                const train::AcceleratorLoader& load, const std::filesystem::path& root,
                                std::vector<Finding>& findings) {
  using evaluate::DeviceChoice;
  const bool needed = needs.device != DeviceChoice::kNone;
  const DeviceChoice choice = needed ? needs.device : DeviceChoice::kAuto;
  comm::Communicator& world = environment.world();
  // Rank 0's choice counts, because the configuration of another rank may be unreadable.
  if (!comm::share(world, choice != DeviceChoice::kCpu)) {
    findings.push_back({Verdict::kGood, kGpu, "not looked for: training.device is cpu", ""});
    return train::inspect_devices(environment.place(), nullptr, "", root);
  }
  std::optional<Finding> fault;
  const machine::RankView mine = find_devices(environment.place(), load, needed, root, fault);
  if (fault) findings.push_back(*fault);
  const bool refused = comm::any(world, fault.has_value());
  const std::vector<machine::RankView> ranks = comm::gather(world, mine);
  std::vector<Finding> judged;
  // With `auto` a fault ends the search before there is a plan: it trains on no other device instead.
  if (world.rank() == comm::kCoordinator && !(refused && choice == DeviceChoice::kAuto)) {
    judged = judge_plan(train::plan_devices(choice, "", needs.groups, ranks), needed);
  }
  // All ranks report the same lines, so that they are not attributed to some hosts; the lines name theirs.
  judged = comm::share(world, std::move(judged));
  findings.insert(findings.end(), judged.begin(), judged.end());
  if (mine.devices.empty() || environment.place().local_rank != 0) return mine;
  findings.push_back({Verdict::kGood, kGpu, "by " + train::accelerator_versions(), ""});
  if (world.size() > 1) {
    const std::string told = train::describe_nccl(mine.devices.front().name, root);
    findings.push_back({Verdict::kGood, "NCCL",
                        told.empty() ? "is told nothing: it finds its ways itself" : told,
                        needs.groups ? "" : "for groups of several ranks (training.group)"});
  }
  return mine;
}

FabricFacts read_fabric_facts(const machine::RankView& node, int node_count,
                              const machine::NodeLimits& limits, const fs::path& root) {
  return {.node = node,
          .node_count = node_count,
          .locked_memory_bytes = limits.locked_memory_bytes,
          .direct_transfers = has_direct_transfers(root),
          .mpi_components = mpi_components(store::read_file("/proc/self/maps"))};
}

std::vector<std::string> mpi_components(std::string_view maps) {
  constexpr std::string_view kMark = "/mca_";
  std::set<std::string> found;
  for (std::size_t at = maps.find(kMark); at != std::string_view::npos; at = maps.find(kMark, at + 1)) {
    const std::string_view rest = maps.substr(at + kMark.size());
    const std::string_view name = rest.substr(0, rest.find_first_of(".\n"));
    for (const std::string_view layer : {"pml_", "mtl_", "btl_"}) {
      // Every MPI has this component, with which a rank sends to itself.
      if (name.starts_with(layer) && name != "btl_self") found.emplace(name);
    }
  }
  return {found.rbegin(), found.rend()};  // the component that chooses comes first, then those that it uses
}

std::vector<Finding> judge_fabric(const FabricFacts& facts) {
  std::vector<Finding> findings{judge_ports(facts)};
  if (any_usable(facts.node)) {
    if (facts.locked_memory_bytes && *facts.locked_memory_bytes < kLeastLockedMemory) {
      findings.push_back({Verdict::kWarning, kAdapters,
                          "a process may lock " +
                              with_unit(static_cast<double>(*facts.locked_memory_bytes) / kMegabyte, "MB") +
                              " of memory, adapters need more",
                          "ulimit -l unlimited: memlock in /etc/security/limits.conf, LimitMEMLOCK=infinity "
                          "of slurmd, docker --ulimit memlock=-1"});
    }
    if (!facts.node.devices.empty() && !facts.direct_transfers) {
      findings.push_back(
          {Verdict::kNote, kAdapters,
           "GPUs' memory cannot be read by the adapters directly (GPUDirect): nvidia_peermem is not "
           "loaded",
           "groups over nodes are slower: modprobe nvidia_peermem, or the driver's open kernel modules"});
    }
  }
  judge_mpi(facts, findings);
  return findings;
}

}  // namespace skyline::app
