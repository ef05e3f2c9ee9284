#include "train/loading/device_choice.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/process.hpp"
#include "evaluate/job_ranks.hpp"
#include "machine/nccl_settings.hpp"
#include "machine/node.hpp"
#include "train/loading/device_plan.hpp"
#include "train/options/group_size.hpp"

#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <utility>

namespace skyline::train {
namespace {

namespace fs = std::filesystem;

/// Returns whether NVIDIA's MPS runs, by which processes share a GPU in compute mode Exclusive_Process.
bool has_mps(const fs::path& root) {
  const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  std::error_code ignored;
  return fs::exists((folder != nullptr ? fs::path(folder) : root / "tmp/nvidia-mps") / "control", ignored);
}

/// Leaves this rank one MIG instance of a list: CUDA shows a process the first of its list alone.
void keep_own_instance(int rank_on_node) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr || !std::string_view(visible).starts_with("MIG-")) return;
  std::vector<std::string> instances;
  std::istringstream list(visible);
  for (std::string instance; std::getline(list, instance, ',');) instances.push_back(instance);
  const std::string& own = instances[static_cast<std::size_t>(rank_on_node) % instances.size()];
  ::setenv("CUDA_VISIBLE_DEVICES", own.c_str(), 1);
}

machine::DeviceView view_of(const AcceleratorDevice& device, const fs::path& root) {
  const std::string address =
      device.bus_id.empty() ? "device " + std::to_string(device.index) : device.bus_id;
  return {.identity = machine::device_identity(address, std::getenv("CUDA_VISIBLE_DEVICES")),
          .name = device.name,
          .place = machine::read_pci_place(root, device.bus_id),
          .exclusive = device.exclusive && !has_mps(root)};
}

/// Says which settings NCCL gets on this node, and which it already had.
std::string nccl_text(const std::vector<machine::NcclSetting>& settings,
                      const machine::NcclSurroundings& found) {
  std::string text = machine::to_text(settings);
  std::string before;
  for (const auto& [name, value] : found.set) before += (before.empty() ? "set before: " : ", ") + name;
  if (!text.empty() && !before.empty()) text += "; ";
  text += before;
  if (const std::string file = machine::missing_topology(found); !file.empty()) {
    text +=
        (text.empty() ? "" : "; ") + file + " is not there, and NCCL guesses which adapter is near which GPU";
  }
  return text;
}

/// The facts that a rank tells the others, so that all make the same plan.
struct RankOffer {
  machine::RankView view;
  std::string unusable;  // why its GPU cannot be used; empty if it can, or if there is none
  std::string begun;     // see DeviceWish; rank 0's value counts
};

template <typename Visitor>
void for_each_field(RankOffer& offer, Visitor& visit) {
  visit(offer.view, offer.unusable, offer.begun);
}

/// Prepares this process' environment for NCCL; rank 0 logs the settings of each node's ranks. Collective.
void prepare_nccl(evaluate::Ranks& ranks, const std::string& host, const std::string& gpu,
                  const fs::path& root) {
  machine::NcclSurroundings found = machine::read_nccl_surroundings(root);
  found.gpu_name = gpu;
  const std::vector<machine::NcclSetting> settings = machine::choose_nccl_settings(found);
  machine::apply(settings);
  const std::vector<std::string> hosts = ranks.exchange(host);
  const std::vector<std::string> texts = ranks.exchange(nccl_text(settings, found));
  if (ranks.rank() != 0) return;
  std::vector<machine::HostText> by_host;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) by_host.push_back({hosts[rank], texts[rank]});
  for (const std::string& line : machine::lines_by_host(by_host)) log::info("NCCL on " + line);
}

/// Returns the plan that all ranks make of what each of them offers; rank 0 logs it. Collective.
/// @throws UserError if a GPU that is there cannot be used, or the plan has a problem
DevicePlan agree_on_plan(evaluate::Ranks& ranks, const RankOffer& mine, const DeviceWish& wish) {
  std::vector<machine::RankView> views;
  std::string unusable;
  std::string begun;
  for (RankOffer& offer : evaluate::exchange(ranks, mine)) {
    if (views.empty()) begun = offer.begun;
    if (unusable.empty()) unusable = offer.unusable;
    views.push_back(std::move(offer.view));
  }
  if (!unusable.empty() && wish.choice == DeviceChoice::kAuto && begun != "cpu") {
    throw UserError("`training.device` is auto, and a GPU is there that cannot be used (" + unusable +
                    "): mend that, or choose cpu");
  }
  DevicePlan plan = plan_devices(wish.choice, begun, wish.members > 1, views);
  if (ranks.rank() == 0) {
    for (const std::string& line : plan.lines) log::info(line);
    for (const std::string& line : plan.fabric) log::info(line);
    for (const std::string& warning : plan.warnings) log::warning(warning);
  }
  if (!plan.problem.empty()) throw UserError(plan.problem);
  return plan;
}

}  // namespace

DeviceWish wish_of(const TrainingOptions& options) {
  return {.choice = options.device, .members = most_members(options.group)};
}

machine::RankView inspect_devices(const comm::NodePlace& place, const Accelerator* accelerator,
                                  std::string reason, const fs::path& root) {
  machine::RankView view{
      .host = place.host, .node = place.node, .processors = place.allowed, .reason = std::move(reason)};
  if (accelerator != nullptr) {
    for (const AcceleratorDevice& device : accelerator->devices()) {
      view.devices.push_back(view_of(device, root));
    }
  }
  if (view.devices.empty() && view.reason.empty()) view.reason = "the cuda module finds no device";
  if (place.local_rank == 0) {
    view.ports = machine::read_fabric_ports(root);
    view.nv_switches = machine::count_pci_devices(root, "0x10de", "0x0680");
  }
  return view;
}

std::string describe_nccl(const std::string& gpu, const fs::path& root) {
  machine::NcclSurroundings found = machine::read_nccl_surroundings(root);
  found.gpu_name = gpu;
  return nccl_text(machine::choose_nccl_settings(found), found);
}

DeviceUse choose_device(evaluate::Ranks& ranks, const trial::Place& place, const DeviceWish& wish,
                        const AcceleratorLoader& load, const fs::path& root) {
  if (wish.choice == DeviceChoice::kCpu) return {};
  std::string reason;
  std::shared_ptr<Accelerator> accelerator;
  RankOffer mine;
  try {
    keep_own_instance(place.node_rank);
    if (wish.trains) accelerator = load(reason);
  } catch (const UserError& error) {
    reason = mine.unusable = error.what();
  }
  comm::NodePlace node;
  node.host = place.host;
  node.node = place.node;
  node.local_rank = place.node_rank;
  node.allowed = allowed_processors();
  mine.view = inspect_devices(node, accelerator.get(), reason, root);
  mine.view.trains = wish.trains;
  mine.begun = wish.begun;
  const DevicePlan plan = agree_on_plan(ranks, mine, wish);
  DeviceUse use;
  use.on_gpus = plan.on_gpus;
  if (!use.on_gpus) return use;
  const machine::RankBinding& binding = plan.bindings.at(static_cast<std::size_t>(ranks.rank()));
  use.processors = binding.processors;
  bind_this_thread(binding.processors);  // this binds the threads that libraries start, too
  std::string gpu;
  if (binding.device >= 0) {
    gpu = mine.view.devices[static_cast<std::size_t>(binding.device)].name;
    use.accelerator = std::move(accelerator);
    use.device = binding.device;
  }
  if (wish.members > 1 && ranks.size() > 1) prepare_nccl(ranks, place.host, gpu, root);
  return use;
}

std::vector<std::string> describe_device(const DeviceWish& wish, const AcceleratorLoader& load,
                                         const fs::path& root) {
  if (wish.choice == DeviceChoice::kCpu) return {"training on the CPU, as the configuration says"};
  std::string reason;
  std::shared_ptr<Accelerator> accelerator;
  try {
    accelerator = load(reason);
  } catch (const UserError& error) {
    return {std::string("the GPU of this machine cannot be used: ") + error.what()};
  }
  comm::NodePlace place;
  place.host = "this machine";
  place.allowed = allowed_processors();
  const machine::RankView view = inspect_devices(place, accelerator.get(), reason, root);
  DevicePlan plan = plan_devices(wish.choice, "", wish.members > 1, {view});
  if (!plan.problem.empty()) return {std::move(plan.problem)};
  if (!plan.on_gpus) return plan.lines;
  std::vector<std::string> lines{"training on the GPUs of this machine: " +
                                 machine::describe_gpus({view}, {})};
  if (!view.ports.empty()) lines.push_back(machine::describe_fabric({view}));
  return lines;
}

}  // namespace skyline::train
