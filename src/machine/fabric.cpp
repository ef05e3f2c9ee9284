#include "machine/fabric.hpp"

#include "core/text/wording.hpp"
#include "machine/system_file.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

#include <unistd.h>

namespace skyline::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInfiniBandType = "32";  // ARPHRD_INFINIBAND

/// Turns "4: ACTIVE" into "active".
std::string state_word(const std::string& line) {
  const auto colon = line.find(": ");
  return lower_case(colon == std::string::npos ? line : line.substr(colon + 2));
}

/// Returns the state of the physical link, e.g. "down (polling)", or an empty text if the link is up.
std::string state_text(const fs::path& port) {
  const std::string link = state_word(read_system_line(port / "phys_state"));
  const std::string state = state_word(read_system_line(port / "state"));
  return link.empty() || link == "linkup" ? state : state + " (" + link + ")";
}

/// Turns "400 Gb/sec (4X NDR)" into "400 Gb/s".
std::string rate_text(const std::string& line) {
  const auto unit = line.find(" Gb/sec");
  return unit == std::string::npos ? "" : line.substr(0, unit) + " Gb/s";
}

/// Returns the name of the device's file in /dev/infiniband, or an empty text if there is none.
std::string verbs_file(const fs::path& root, const std::string& device) {
  const fs::path folder = root / "sys/class/infiniband_verbs";
  for (const std::string& name : list_system_folder(folder)) {
    if (read_system_line(folder / name / "ibdev") == device) return name;
  }
  return {};
}

FabricPort read_port(const fs::path& root, const std::string& device, const std::string& number) {
  const fs::path folder = fs::path("sys/class/infiniband") / device;
  const fs::path port_folder = root / folder / "ports" / number;
  FabricPort port;
  port.device = device;
  port.port = std::atoi(number.c_str());
  port.link_layer = read_system_line(port_folder / "link_layer");
  port.state = state_text(port_folder);
  port.active = port.state == "active";
  port.rate = rate_text(read_system_line(port_folder / "rate"));
  const std::string file = verbs_file(root, device);
  if (!file.empty()) {
    port.device_file = "/dev/infiniband/" + file;
    port.reachable = access((root / "dev/infiniband" / file).c_str(), R_OK | W_OK) == 0;
  }
  port.board = read_system_line(root / folder / "board_id");
  port.firmware = read_system_line(root / folder / "fw_ver");
  port.place = read_pci_place_of(root, folder);
  return port;
}

/// Returns true for interfaces that containers or virtual machines made; they lead to no other node.
bool is_of_this_node_alone(std::string_view name) {
  constexpr std::array<std::string_view, 9> kPrefixes{"docker", "br-", "veth",   "virbr",  "cni",
                                                      "cali",   "tap", "podman", "flannel"};
  return name == "lo" ||
         std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::vector<FabricPort> read_fabric_ports(const fs::path& root) {
  std::vector<FabricPort> ports;
  const fs::path folder = root / "sys/class/infiniband";
  for (const std::string& device : list_system_folder(folder)) {
    for (const std::string& number : list_system_folder(folder / device / "ports")) {
      ports.push_back(read_port(root, device, number));
    }
  }
  return ports;
}

std::vector<NetworkInterface> read_network_interfaces(const fs::path& root) {
  std::vector<NetworkInterface> interfaces;
  std::ifstream routes(root / "proc/net/route");
  std::string line;
  std::getline(routes, line);  // skips the heading of the table
  while (std::getline(routes, line)) {
    std::istringstream words(line);
    std::string name;
    std::string destination;
    words >> name >> destination;
    if (name.empty() || is_of_this_node_alone(name)) continue;
    const auto known = std::ranges::find(interfaces, name, &NetworkInterface::name);
    if (known == interfaces.end()) {
      const bool over_infiniband =
          read_system_line(root / "sys/class/net" / name / "type") == kInfiniBandType;
      interfaces.push_back({name, destination == "00000000", over_infiniband});
    } else if (destination == "00000000") {
      known->default_route = true;
    }
  }
  std::ranges::stable_partition(interfaces, &NetworkInterface::default_route);
  return interfaces;
}

bool is_azure(const fs::path& root) {
  // Every virtual machine of Azure, and nothing else, has this tag; other Hyper-V machines have their own.
  return read_system_line(root / "sys/class/dmi/id/chassis_asset_tag") == "7783-7084-3265-9085-8269-3286-77";
}

}  // namespace skyline::machine
