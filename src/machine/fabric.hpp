#pragma once

#include "machine/pci.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::machine {

/// A port of an RDMA adapter (HCA): InfiniBand, or Ethernet with RoCE.
struct FabricPort {
  std::string device = {};  // e.g. "mlx5_0"
  int port = 1;
  std::string link_layer = {};  // "InfiniBand", or "Ethernet" for RoCE
  bool active = false;
  std::string state = {};        // if not active: why, e.g. "down (polling)"
  std::string rate = {};         // e.g. "400 Gb/s"; empty if unknown
  std::string device_file = {};  // file to use it, e.g. "/dev/infiniband/uverbs0"; empty if there is none
  bool reachable = false;        // true if this process may open that file
  std::string board = {};        // e.g. "MT_0000000838"
  std::string firmware = {};     // e.g. "28.39.2048"
  PciPlace place = {};

  bool usable() const { return active && reachable; }
  /// Returns "mlx5_0", or "mlx5_0:2" for another port than the first.
  std::string name() const { return port == 1 ? device : device + ":" + std::to_string(port); }
};

/// Reads the node's ports from the system's files, ordered by device and number.
/// @param root  root of the file system; tests use another one than "/"
std::vector<FabricPort> read_fabric_ports(const std::filesystem::path& root);

/// A network interface that has an address.
struct NetworkInterface {
  std::string name = {};
  bool default_route = false;
  bool over_infiniband = false;
};

/// Returns the interfaces that can lead to other nodes, the one of the default route first. It leaves out the
/// loopback and those of containers and virtual machines (docker0, veth..., virbr0). Reads the IPv4 routes.
std::vector<NetworkInterface> read_network_interfaces(const std::filesystem::path& root);

/// Returns whether the node is a virtual machine of Azure.
bool is_azure(const std::filesystem::path& root);

}  // namespace skyline::machine
