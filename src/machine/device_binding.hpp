#pragma once

#include "machine/fabric.hpp"
#include "machine/pci.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace skyline::machine {

/// A device as one rank sees it.
struct DeviceView {
  std::string identity = {};  // equal for all ranks of a node that see this device, and for no other device
  std::string name = {};      // e.g. "NVIDIA H100 80GB HBM3"
  PciPlace place = {};
  bool exclusive = false;  // true if two ranks cannot share it
};

/// A rank as the other ranks see it: its node, processors and devices.
struct RankView {
  std::string host = {};
  int node = 0;                          // NodePlace::node
  bool trains = true;                    // false if the rank needs no device
  std::vector<int> processors = {};      // affinity mask, ascending, not empty
  std::vector<DeviceView> devices = {};  // devices that the rank can use, by its own index
  std::string reason = {};               // why the rank has no devices
  std::vector<FabricPort> ports = {};    // ports of the node; only its first rank fills them
  int nv_switches = 0;                   // number on the node; only its first rank fills it
};

/// The device and the processors that a rank gets.
struct RankBinding {
  int device = -1;                   // index among the rank's own devices, or -1
  std::vector<int> processors = {};  // replaces NodePlace::processors
};

// Lists the fields that ranks send each other.

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

/// Binds each rank of a node to a device, as evenly as the lists of the ranks allow, whatever started the
/// ranks and whether each sees one device or all. Among equal choices a rank gets a device near its
/// processors, then the first one in bus order, so that rank i of n gets device i of n. The processors of a
/// rank are narrowed to those near its device, if its mask has some, and distributed again. Deterministic.
/// @param ranks  the ranks of one node, by local rank
std::vector<RankBinding> bind_devices(const std::vector<RankView>& ranks);

/// Binds the ranks of several nodes.
/// @param ranks  indexed by world rank, like the result
std::vector<RankBinding> bind_all_nodes(const std::vector<RankView>& ranks);

/// Returns the world ranks of each node; nodes are ordered by their first rank.
std::vector<std::vector<std::size_t>> ranks_of_nodes(const std::vector<RankView>& ranks);

/// Returns the devices of a node by identity, each once. Messages number them in this order (GPU 0, 1, ...),
/// whatever numbers the ranks use.
std::vector<DeviceView> devices_of_node(const std::vector<RankView>& ranks);

/// Returns the identity of a device: its PCI address, and the MIG instance if it is a part of a GPU.
/// @param visible_devices  CUDA_VISIBLE_DEVICES, or nullptr if it is not set
std::string device_identity(const std::string& bus_id, const char* visible_devices);

}  // namespace skyline::machine
