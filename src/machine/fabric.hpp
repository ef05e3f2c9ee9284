#pragma once

#include "machine/pci.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::machine {

/// A port of an RDMA adapter (HCA): InfiniBand, or Ethernet with RoCE.
struct FabricPort {
  std::string device = {};  // "mlx5_0"
  int port = 1;
  std::string link_layer = {};  // "InfiniBand", or "Ethernet": RoCE
  bool active = false;
  std::string state = {};        // why it is not active, e.g. "down (polling)"
  std::string rate = {};         // "400 Gb/s"; empty: unknown
  std::string device_file = {};  // through which programs use it, "/dev/infiniband/uverbs0"; empty: none
  bool reachable = false;        // whether this process may open that file
  std::string board = {};        // "MT_0000000838"
  std::string firmware = {};     // "28.39.2048"
  PciPlace place = {};

  bool usable() const { return active && reachable; }
  /// "mlx5_0", or "mlx5_0:2" for another port than the first.
  std::string name() const;
};

/// Reads the node's ports from the system's files, ordered by device and number.
/// @param root  of the file system; "/" but for tests
std::vector<FabricPort> read_fabric_ports(const std::filesystem::path& root);

/// A network interface that has an address.
struct NetworkInterface {
  std::string name = {};
  bool default_route = false;
  bool over_infiniband = false;
};

/// The interfaces that can lead to other nodes, that of the default route first: neither the loopback nor
/// those of containers and virtual machines (docker0, veth..., virbr0). Read from the IPv4 routes.
std::vector<NetworkInterface> read_network_interfaces(const std::filesystem::path& root);

/// Whether the node is a virtual machine of Azure.
bool is_azure(const std::filesystem::path& root);

}  // namespace skyline::machine
