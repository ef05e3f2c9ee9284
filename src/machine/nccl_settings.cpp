#include "machine/nccl_settings.hpp"

#include "skyline/core/error.hpp"

#include "core/system/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace skyline::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPorts = 32;  // NCCL reads no more entries of a list

/// A virtual machine type of Azure and its topology file; each type has eight GPUs.
struct TopologyFile {
  std::string_view gpu;
  std::string_view file;
};
constexpr int kTopologyGpus = 8;
constexpr std::array<TopologyFile, 3> kTopologyFiles{
    {{"A100", "ndv4-topo.xml"}, {"H100", "ndv5-topo.xml"}, {"H200", "ndv5-topo.xml"}}};

bool any_set(const NcclSurroundings& surroundings, std::initializer_list<const char*> names) {
  return std::ranges::any_of(names, [&](const char* name) { return surroundings.set.contains(name); });
}

/// Returns the ports that a message between nodes can use.
std::vector<const FabricPort*> ports_for_nccl(const NcclSurroundings& surroundings) {
  for (const std::string_view layer : {"InfiniBand", "Ethernet"}) {
    // Azure's Ethernet adapters are RDMA devices too, but RDMA between machines does not work over them.
    if (layer == "Ethernet" && surroundings.azure) break;
    std::vector<const FabricPort*> ports;
    for (const FabricPort& port : surroundings.ports) {
      if (port.usable() && port.link_layer == layer) ports.push_back(&port);
    }
    if (!ports.empty()) return ports;
  }
  return {};
}

std::string why_no_port(const std::vector<FabricPort>& ports) {
  if (ports.empty()) return "no InfiniBand adapter";
  if (std::ranges::none_of(ports, &FabricPort::active)) return "no port is active";
  const auto hidden =
      std::ranges::find_if(ports, [](const FabricPort& port) { return port.active && !port.reachable; });
  if (hidden == ports.end()) return "no InfiniBand port is active";
  return hidden->name() + " is active, but " +
         (hidden->device_file.empty() ? "it has no device file" : hidden->device_file + " cannot be opened") +
         " here";
}

void choose_ports(const NcclSurroundings& surroundings, std::vector<NcclSetting>& settings) {
  if (any_set(surroundings, {"NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_NET"})) return;
  const std::vector<const FabricPort*> ports = ports_for_nccl(surroundings);
  if (ports.size() > kMostPorts) return;
  if (ports.empty()) {
    settings.push_back({"NCCL_IB_DISABLE", "1", why_no_port(surroundings.ports)});
    return;
  }
  std::string list;
  for (const FabricPort* port : ports) {
    list += (list.empty() ? "=" : ",") + port->device + ":" + std::to_string(port->port);
  }
  const bool all = ports.size() == surroundings.ports.size();
  settings.push_back({"NCCL_IB_HCA", list, all ? "all ports are active" : "the ports that can be used"});
}

void choose_interface(const NcclSurroundings& surroundings, std::vector<NcclSetting>& settings) {
  if (any_set(surroundings, {"NCCL_SOCKET_IFNAME", "NCCL_COMM_ID"})) return;
  const std::vector<NetworkInterface>& interfaces = surroundings.interfaces;
  const auto set = [&](const NetworkInterface& chosen, const char* reason) {
    settings.push_back({"NCCL_SOCKET_IFNAME", "=" + chosen.name, reason});
  };
  const auto of_mpi = std::ranges::find(interfaces, surroundings.mpi_interface, &NetworkInterface::name);
  const auto infiniband = std::ranges::find_if(interfaces, &NetworkInterface::over_infiniband);
  if (of_mpi != interfaces.end()) {
    set(*of_mpi, "MPI uses it");
  } else if (infiniband != interfaces.end() && !surroundings.azure) {  // Azure's own images take Ethernet
    set(*infiniband, "IP over InfiniBand");
  } else if (!interfaces.empty() && interfaces[0].default_route) {
    set(interfaces[0], "the default route");
  } else if (interfaces.size() == 1) {
    set(interfaces[0], "the only one");
  }
}

/// Returns the topology file of this type of machine, whether or not it is there.
std::optional<fs::path> topology_file(const NcclSurroundings& surroundings) {
  if (any_set(surroundings, {"NCCL_TOPO_FILE"}) || !surroundings.azure) return std::nullopt;
  if (surroundings.gpus != kTopologyGpus) return std::nullopt;
  for (const TopologyFile& known : kTopologyFiles) {
    if (surroundings.gpu_name.find(known.gpu) == std::string::npos) continue;
    return surroundings.topology_folder / known.file;
  }
  return std::nullopt;
}

void choose_topology(const NcclSurroundings& surroundings, std::vector<NcclSetting>& settings) {
  const std::optional<fs::path> file = topology_file(surroundings);
  std::error_code error;
  if (!file || !fs::exists(*file, error)) return;
  settings.push_back({"NCCL_TOPO_FILE", file->string(), "Azure's own; NCCL would guess"});
}

/// Turns off the registration of memory in recorded operations: NCCL would wait inside the recording for all
/// members, although one of them may have refused to record.
void choose_registration(const NcclSurroundings& surroundings, std::vector<NcclSetting>& settings) {
  if (any_set(surroundings, {"NCCL_GRAPH_REGISTER"})) return;
  settings.push_back({"NCCL_GRAPH_REGISTER", "0", "a rank may refuse to record"});
}

/// Adds "NAME=value" to the map if it is a variable of NCCL that the map does not have yet.
void add_assignment(std::string_view line, std::map<std::string, std::string>& settings) {
  const auto equals = line.find('=');
  if (!line.starts_with("NCCL_") || equals == std::string_view::npos) return;
  settings.emplace(line.substr(0, equals), line.substr(equals + 1));
}

}  // namespace

std::map<std::string, std::string> read_nccl_settings(const fs::path& root, const fs::path& home,
                                                      const char* const* environment) {
  std::map<std::string, std::string> settings;
  for (; *environment != nullptr; ++environment) add_assignment(*environment, settings);
  // NCCL reads one file of the user and one of the machine.
  fs::path own;
  if (!home.empty()) own = home / ".nccl.conf";
  if (const auto named = settings.find("NCCL_CONF_FILE"); named != settings.end()) own = named->second;
  for (const fs::path& file : {own, root / "etc/nccl.conf"}) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) add_assignment(line, settings);
  }
  return settings;
}

NcclSurroundings read_nccl_surroundings(const fs::path& root) {
  NcclSurroundings surroundings;
  surroundings.ports = read_fabric_ports(root);
  surroundings.interfaces = read_network_interfaces(root);
  surroundings.mpi_interface = process_variable("OMPI_MCA_btl_tcp_if_include").value_or("");
  surroundings.azure = is_azure(root);
  surroundings.gpus = count_pci_devices(root, "0x10de", "0x0302");
  surroundings.topology_folder = root / "opt/microsoft";
  surroundings.set = read_nccl_settings(root, process_variable("HOME").value_or(""), environ);
  return surroundings;
}

std::vector<NcclSetting> choose_nccl_settings(const NcclSurroundings& surroundings) {
  std::vector<NcclSetting> settings;
  choose_ports(surroundings, settings);
  choose_interface(surroundings, settings);
  choose_topology(surroundings, settings);
  choose_registration(surroundings, settings);
  return settings;
}

std::string missing_topology(const NcclSurroundings& surroundings) {
  const std::optional<fs::path> file = topology_file(surroundings);
  std::error_code error;
  return file && !fs::exists(*file, error) ? file->string() : std::string();
}

void apply(const std::vector<NcclSetting>& settings) {
  for (const NcclSetting& setting : settings) {
    if (setenv(setting.name.c_str(), setting.value.c_str(), 1) != 0) {
      throw InternalError("setenv " + setting.name + ": " + system_error_text(errno));
    }
  }
}

std::string to_text(const std::vector<NcclSetting>& settings) {
  std::string text;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    text += (i == 0 ? "" : ", ") + settings[i].name + "=" + settings[i].value;
    const bool said_later = i + 1 < settings.size() && settings[i + 1].reason == settings[i].reason;
    if (!said_later) text += " (" + settings[i].reason + ")";
  }
  return text;
}

}  // namespace skyline::machine
