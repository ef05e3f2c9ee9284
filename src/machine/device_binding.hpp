#pragma once

#include "machine/fabric.hpp"
#include "machine/pci.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace skyline::machine {

/// A device as one rank sees it.
struct DeviceView {
  std::string identity = {};  // the same for all ranks of a node that see the device, and for no other device
  std::string name = {};      // "NVIDIA H100 80GB HBM3"
  PciPlace place = {};
  bool exclusive = false;  // no two ranks can use it
};

/// A rank as the other ranks see it: its node, processors and devices.
struct RankView {
  std::string host = {};
  int node = 0;                          // NodePlace::node
  bool trains = true;                    // false: it needs no device
  std::vector<int> processors = {};      // affinity mask, ascending, not empty
  std::vector<DeviceView> devices = {};  // that the rank can use, by its own index
  std::string reason = {};               // why the rank has no devices
  std::vector<FabricPort> ports = {};    // of the node; filled by its first rank
  int nv_switches = 0;                   // of the node; filled by its first rank
};

/// The device and the processors that a rank gets.
struct RankBinding {
  int device = -1;                   // index in its own devices; -1: none
  std::vector<int> processors = {};  // NodePlace::processors from now on
};

// The fields of what ranks tell each other.

template <typename Visitor>
void for_each_field(PciPlace& place, Visitor& visit) {
  visit(place.address, place.bridges, place.numa_node, place.near_processors, place.link);
}

template <typename Visitor>
void for_each_field(FabricPort& port, Visitor& visit) {
  visit(port.device, port.port, port.link_layer, port.active, port.state, port.rate, port.device_file,
        port.reachable, port.board, port.firmware, port.place);
}

template <typename Visitor>
void for_each_field(DeviceView& device, Visitor& visit) {
  visit(device.identity, device.name, device.place, device.exclusive);
}

template <typename Visitor>
void for_each_field(RankView& view, Visitor& visit) {
  visit(view.host, view.node, view.trains, view.processors, view.devices, view.reason, view.ports,
        view.nv_switches);
}

/// Binds each rank of a node to a device, all devices as evenly as the ranks' lists allow, whatever started
/// the ranks and whether each sees one device or all. Of equal choices a rank gets a device near its
/// processors, then the first one in bus order, so that rank i of n gets device i of n. Its processors are
/// narrowed to those near its device if its mask has some, and distributed anew. Deterministic.
/// @param ranks  of one node, by local rank
std::vector<RankBinding> bind_devices(const std::vector<RankView>& ranks);

/// Binds the ranks of several nodes. @param ranks  by world rank, as the result
std::vector<RankBinding> bind_all_nodes(const std::vector<RankView>& ranks);

/// The world ranks of each node, nodes by their first rank.
std::vector<std::vector<std::size_t>> ranks_of_nodes(const std::vector<RankView>& ranks);

/// The devices of a node by identity, each once. Their order gives the numbers in texts (GPU 0, 1, ...),
/// whatever the ranks call them.
std::vector<DeviceView> devices_of_node(const std::vector<RankView>& ranks);

/// The identity of a device: its PCI address, and the MIG instance if it is a part of a GPU.
/// @param visible_devices  CUDA_VISIBLE_DEVICES, nullptr if it is not set
std::string device_identity(const std::string& bus_id, const char* visible_devices);

}  // namespace skyline::machine
