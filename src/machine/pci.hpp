#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::machine {

/// Place of a PCI device in its node, from the system's files; empty members are unknown.
struct PciPlace {
  std::string address = {};  // "0000:1b:00.0"
  /// From the host bridge down to the one above the device, e.g. "pci0000:17", "0000:17:01.0".
  std::vector<std::string> bridges = {};
  int numa_node = -1;                     // -1: unknown
  std::vector<int> near_processors = {};  // ascending
  /// The fastest link that both ends support (idle devices slow their links down): "32.0 GT/s x16", or "32.0
  /// GT/s x8 of x16" if lanes are missing.
  std::string link = {};
};

/// Distance between two devices, nearest first.
enum class PciDistance {
  kSameSwitch,    // below one bridge
  kSameHost,      // below one host bridge
  kSameNumaNode,  // through the processor
  kFar,           // through two processors, or unknown
};

/// @param root     of the file system; "/" but for tests
/// @param address  in any case, e.g. "0000:1B:00.0"
PciPlace read_pci_place(const std::filesystem::path& root, const std::string& address);

/// The place of the PCI device behind a folder of /sys/class, e.g. of /sys/class/infiniband/mlx5_0.
PciPlace read_pci_place_of(const std::filesystem::path& root, const std::filesystem::path& class_folder);

PciDistance pci_distance(const PciPlace& left, const PciPlace& right);

/// Number of the node's PCI devices of this vendor and class, e.g. "0x10de", "0x0302", including those that
/// this process may not use.
int count_pci_devices(const std::filesystem::path& root, const std::string& vendor,
                      const std::string& class_prefix);

/// The processors of the mask that are near the device; the whole mask if none is, or nothing is known.
std::vector<int> near_processors(const PciPlace& place, const std::vector<int>& mask);

}  // namespace skyline::machine
