#include "core/text/wording.hpp"
#include "machine/node.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

namespace skyline::machine {
namespace {

constexpr std::size_t kMostHosts = 4;  // number of hosts that a line names

/// Returns e.g. "0,0,1,1", or "0" if all are equal.
std::string list_text(const std::vector<std::string>& values) {
  const bool equal = std::ranges::adjacent_find(values, std::ranges::not_equal_to()) == values.end();
  return equal && !values.empty() ? values.front() : joined(values, ",");
}

/// Returns e.g. "6 x NVIDIA A100, 2 x NVIDIA T4", in bus order of the first of each.
std::string device_names(const std::vector<DeviceView>& devices) {
  std::vector<std::string> names;
  for (const DeviceView& device : devices) {
    if (std::ranges::find(names, device.name) == names.end()) names.push_back(device.name);
  }
  for (std::string& name : names) {
    name = std::to_string(std::ranges::count(devices, name, &DeviceView::name)) + " x " + name;
  }
  return joined(names, ", ");
}

/// Returns the places of the devices in brackets, or an empty text if nothing is known.
std::string device_places(const std::vector<DeviceView>& devices, int nv_switches) {
  std::vector<std::string> numa;
  std::vector<std::string> links;
  for (const DeviceView& device : devices) {
    numa.push_back(device.place.numa_node < 0 ? "?" : std::to_string(device.place.numa_node));
    links.push_back(device.place.link.empty() ? "?" : device.place.link);
  }
  std::vector<std::string> parts;
  if (list_text(numa) != "?") parts.push_back("NUMA " + list_text(numa));
  if (list_text(links) != "?") parts.push_back("PCIe " + list_text(links));
  if (nv_switches > 0) {
    parts.push_back(std::to_string(nv_switches) + (nv_switches == 1 ? " NVSwitch" : " NVSwitches"));
  }
  return parts.empty() ? "" : " (" + joined(parts, "; ") + ")";
}

/// Returns the number of each rank's device on the node, or -1 for a rank without one.
std::vector<int> bound_devices(const std::vector<RankView>& ranks, const std::vector<RankBinding>& bindings,
                               const std::vector<DeviceView>& devices) {
  std::vector<int> bound;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (bindings[rank].device < 0) {
      bound.push_back(-1);
      continue;
    }
    const auto own = static_cast<std::size_t>(bindings[rank].device);
    const auto found = std::ranges::find(devices, ranks[rank].devices[own].identity, &DeviceView::identity);
    bound.push_back(static_cast<int>(found - devices.begin()));
  }
  return bound;
}

/// Says which device each rank has.
std::string use_text(const std::vector<int>& bound, std::size_t devices) {
  bool in_order = bound.size() == devices;
  std::vector<std::string> ranks;
  std::vector<std::string> numbers;
  for (std::size_t rank = 0; rank < bound.size(); ++rank) {
    in_order = in_order && bound[rank] == static_cast<int>(rank);
    if (bound[rank] < 0) continue;
    ranks.push_back(std::to_string(rank));
    numbers.push_back(std::to_string(bound[rank]));
  }
  if (in_order) return devices == 1 ? ", a rank on it" : ", a rank on each";
  return ", its rank" + std::string(ranks.size() == 1 ? " " : "s ") + joined(ranks, ",") + " on GPU " +
         joined(numbers, ",");
}

/// Returns the numbers of the devices nearest to the port, or none if all are equally far.
std::vector<std::string> near_devices(const FabricPort& port, const std::vector<DeviceView>& devices) {
  PciDistance nearest = PciDistance::kFar;
  for (const DeviceView& device : devices) {
    nearest = std::min(nearest, pci_distance(port.place, device.place));
  }
  std::vector<std::string> near;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (pci_distance(port.place, devices[i].place) == nearest) near.push_back(std::to_string(i));
  }
  if (nearest == PciDistance::kFar || near.size() == devices.size()) near.clear();
  return near;
}

std::string port_text(const FabricPort& port, const std::vector<DeviceView>& devices) {
  std::string text = port.name();
  if (!port.active) return text + " " + (port.state.empty() ? "in an unknown state" : port.state);
  text += (port.rate.empty() ? "" : " " + port.rate) + " active";
  if (!port.reachable) {
    text += port.device_file.empty() ? ", without a device file"
                                     : ", but " + port.device_file + " cannot be opened";
  }
  const std::vector<std::string> near = near_devices(port, devices);
  return near.empty() ? text : text + " (near GPU " + joined(near, ",") + ")";
}

std::string firmware_text(const std::vector<FabricPort>& ports) {
  std::set<std::string> versions;
  for (const FabricPort& port : ports) {
    if (!port.firmware.empty()) versions.insert(port.firmware);
  }
  return versions.empty() ? "" : "; firmware " + joined({versions.begin(), versions.end()}, " and ");
}

}  // namespace

std::string describe_gpus(const std::vector<RankView>& ranks, const std::vector<RankBinding>& bindings) {
  const std::vector<DeviceView> devices = devices_of_node(ranks);
  if (devices.empty()) return {};
  const std::string text = device_names(devices) + device_places(devices, ranks.front().nv_switches);
  return bindings.empty() ? text : text + use_text(bound_devices(ranks, bindings, devices), devices.size());
}

std::string describe_fabric(const std::vector<RankView>& ranks) {
  const std::vector<DeviceView> devices = devices_of_node(ranks);
  const std::vector<FabricPort>& ports = ranks.front().ports;
  std::string text;
  std::string layer;
  for (const FabricPort& port : ports) {
    const std::string own = port.link_layer == "Ethernet" ? "RoCE" : port.link_layer;
    text += (text.empty() ? "" : ", ") + (own == layer || own.empty() ? "" : own + " ");
    text += port_text(port, devices);
    layer = own;
  }
  return text + firmware_text(ports);
}

std::vector<std::string> binding_warnings(const std::vector<RankView>& ranks,
                                          const std::vector<RankBinding>& bindings, bool groups) {
  const std::vector<DeviceView> devices = devices_of_node(ranks);
  const std::vector<int> bound = bound_devices(ranks, bindings, devices);
  std::vector<std::size_t> load(devices.size());
  for (const int device : bound) {
    if (device >= 0) ++load[static_cast<std::size_t>(device)];
  }
  std::vector<std::string> warnings;
  if (load.empty()) return warnings;
  const std::size_t most = std::ranges::max(load);
  const auto idle = static_cast<std::size_t>(std::ranges::count(load, std::size_t{0}));
  const std::size_t users = bound.size() - static_cast<std::size_t>(std::ranges::count(bound, -1));
  if (most > 1) {
    warnings.push_back(counted(users, "rank") + " share " + counted(devices.size() - idle, "GPU") + ", " +
                       (std::ranges::min(load) == most ? "" : "up to ") + std::to_string(most) +
                       " on each: a rank a GPU with several slots (--slots) does the same with less memory");
  }
  if (idle > 0 && users > 0) {
    warnings.push_back(std::to_string(idle) + " of " + counted(devices.size(), "GPU") + " " +
                       (idle == 1 ? "is" : "are") + " used by no rank: start " +
                       std::to_string(devices.size()) + " ranks that train on the node");
  }
  const bool confined =
      users > 1 && std::ranges::all_of(ranks, [](const RankView& rank) { return rank.devices.size() <= 1; });
  if (groups && confined && devices.size() > 1) {
    warnings.push_back(
        "every rank sees one GPU alone (srun --gpus-per-task?), so that GPUs of a group may "
        "not reach each other directly: --gpus-per-node lets all ranks see all");
  }
  return warnings;
}

std::vector<std::string> lines_by_host(const std::vector<HostText>& texts) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> hosts;
  for (const HostText& entry : texts) {
    if (entry.text.empty()) continue;
    if (!hosts.contains(entry.text)) order.push_back(entry.text);
    hosts[entry.text].push_back(entry.host);
  }
  std::vector<std::string> lines;
  for (const std::string& text : order) lines.push_back(host_list(hosts.at(text)) + ": " + text);
  return lines;
}

std::string host_list(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  for (const std::string& host : hosts) {
    if (std::ranges::find(names, host) == names.end()) names.push_back(host);
  }
  if (names.size() <= kMostHosts) return joined(names, ", ");
  const std::size_t more = names.size() - (kMostHosts - 1);
  names.resize(kMostHosts - 1);
  return joined(names, ", ") + " and " + std::to_string(more) + " more";
}

}  // namespace skyline::machine
