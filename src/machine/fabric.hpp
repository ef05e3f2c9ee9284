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
  std::string state = {};        // what is wrong with one that is not active, e.g. "down (polling)"
  std::string rate = {};         // "400 Gb/s"; empty: unknown
  std::string device_file = {};  // that programs use it by, "/dev/infiniband/uverbs0"; empty: none
  bool reachable = false;        // whether this process may open that file
  std::string board = {};        // "MT_0000000838"
  std::string firmware = {};     // "28.39.2048"
  PciPlace place = {};

  bool usable() const { return active && reachable; }
  /// "mlx5_0", or "mlx5_0:2" for a port behind the first.
  std::string name() const;
};

/// The node's ports by device and number, read from the system's files; no tool and no library is needed.
/// @param root  of the file system; "/" but for tests
std::vector<FabricPort> read_fabric_ports(const std::filesystem::path& root);

/// A network interface that has an address.
struct NetworkInterface {
  std::string name = {};
  bool default_route = false;
  bool over_infiniband = false;
};

/// Those that other nodes can be behind, the one of the default route first: not the loopback, and none of
/// containers and virtual machines (docker0, veth..., virbr0). From the IPv4 routes.
std::vector<NetworkInterface> read_network_interfaces(const std::filesystem::path& root);

/// Whether the node is a virtual machine of Azure.
bool is_azure(const std::filesystem::path& root);

}  // namespace skyline::machine
