#include "train/loading/device_choice.hpp"

#include "skyline/core/error.hpp"

#include "comm/agreement.hpp"
#include "core/log.hpp"
#include "core/system/process.hpp"
#include "machine/device_binding.hpp"
#include "machine/nccl_settings.hpp"
#include "machine/node.hpp"
#include "train/loading/device_plan.hpp"

#include <cstddef>
#include <cstdlib>
#include <utility>

namespace skyline::train {
namespace {

namespace fs = std::filesystem;

machine::DeviceView view_of(const AcceleratorDevice& device, const fs::path& root) {
  const std::string address =
      device.bus_id.empty() ? "device " + std::to_string(device.index) : device.bus_id;
  return {.identity = machine::device_identity(address, std::getenv("CUDA_VISIBLE_DEVICES")),
          .name = device.name,
          .place = machine::read_pci_place(root, device.bus_id),
          .exclusive = device.exclusive};
}

/// What NCCL is told on this node, and what it was told before.
std::string nccl_text(const std::vector<machine::NcclSetting>& settings,
                      const machine::NcclSurroundings& found) {
  std::string text = machine::to_text(settings);
  std::string before;
  for (const auto& [name, value] : found.set) before += (before.empty() ? "set before: " : ", ") + name;
  if (!text.empty() && !before.empty()) text += "; ";
  return text + before;
}

/// Collective: prepares this process' environment for NCCL; rank 0 logs what each node's ranks are told.
void prepare_nccl(comm::Environment& environment, const std::string& gpu, const fs::path& root) {
  machine::NcclSurroundings found = machine::read_nccl_surroundings(root);
  found.gpu_name = gpu;
  const std::vector<machine::NcclSetting> settings = machine::choose_nccl_settings(found);
  machine::apply(settings);
  const std::vector<std::string> texts = comm::gather(environment.world(), nccl_text(settings, found));
  std::vector<machine::HostText> by_host;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    by_host.push_back({environment.hosts()[rank], texts[rank]});
  }
  for (const std::string& line : machine::lines_by_host(by_host)) log::info("NCCL on " + line);
}

}  // namespace

machine::RankView look_at_devices(const comm::NodePlace& place, const Accelerator* accelerator,
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

DeviceUse choose_device(comm::Environment& environment, const DeviceWish& wish, const AcceleratorLoader& load,
                        const fs::path& root) {
  if (wish.choice == DeviceChoice::kCpu) return {};
  comm::Communicator& world = environment.world();
  std::string reason;
  std::shared_ptr<Accelerator> accelerator;
  std::string unusable;
  try {
    if (wish.trains) accelerator = load(reason);
  } catch (const UserError& error) {
    reason = unusable = error.what();
  }
  const bool refuses = comm::share(world, wish.choice == DeviceChoice::kAuto && wish.begun != "cpu");
  unusable = refuses ? comm::first_problem(world, unusable) : "";
  if (!unusable.empty()) {
    throw UserError("`training.device` is auto, and a GPU is there that cannot be used (" + unusable +
                    "): mend that, or choose cpu");
  }
  machine::RankView mine = look_at_devices(environment.place(), accelerator.get(), reason, root);
  mine.trains = wish.trains;
  const std::vector<machine::RankView> ranks = comm::gather(world, mine);
  DevicePlan plan;
  if (world.rank() == comm::kCoordinator) plan = plan_devices(wish.choice, wish.begun, wish.groups, ranks);
  for (const std::string& line : plan.lines) log::info(line);
  for (const std::string& line : plan.fabric) log::info(line);
  for (const std::string& warning : plan.warnings) log::warning(warning);
  plan = comm::share(world, std::move(plan));
  if (!plan.problem.empty()) throw UserError(plan.problem);

  DeviceUse use;
  use.on_gpus = plan.on_gpus;
  if (!use.on_gpus) return use;
  const machine::RankBinding& binding = plan.bindings.at(static_cast<std::size_t>(world.rank()));
  environment.use_processors(binding.processors);
  bind_this_thread(binding.processors);  // and with it the threads that libraries start
  std::string gpu;
  if (binding.device >= 0) {
    gpu = mine.devices[static_cast<std::size_t>(binding.device)].name;
    use.accelerator = std::move(accelerator);
    use.device = binding.device;
  }
  if (wish.groups && world.size() > 1) prepare_nccl(environment, gpu, root);
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
  const machine::RankView view = look_at_devices(place, accelerator.get(), reason, root);
  DevicePlan plan = plan_devices(wish.choice, "", wish.groups, {view});
  if (!plan.problem.empty()) return {std::move(plan.problem)};
  if (!plan.on_gpus) return plan.lines;
  std::vector<std::string> lines{"training on the GPUs of this machine: " +
                                 machine::describe_gpus({view}, {})};
  if (!view.ports.empty()) lines.push_back(machine::describe_fabric({view}));
  return lines;
}

}  // namespace skyline::train
