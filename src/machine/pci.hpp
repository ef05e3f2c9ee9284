#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::machine {

/// Where a PCI device sits in its node, as the system's files say; what they don't say is empty.
struct PciPlace {
  std::string address = {};  // "0000:1b:00.0"
  /// From the host bridge down to the one above the device, e.g. "pci0000:17", "0000:17:01.0".
  std::vector<std::string> bridges = {};
  int numa_node = -1;                     // -1: unknown
  std::vector<int> near_processors = {};  // ascending
  /// The fastest that both ends of its link can do; idle devices slow their links down. "32.0 GT/s x16", and
  /// "32.0 GT/s x8 of x16" if lanes are missing.
  std::string link = {};
};

/// How far data travels between two devices, nearest first.
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

/// How many of the node's PCI devices are of this vendor and class, e.g. "0x10de", "0x0302"; whatever part of
/// them this process may use.
int count_pci_devices(const std::filesystem::path& root, const std::string& vendor,
                      const std::string& class_prefix);

/// The processors that are near the device and in the mask; all of the mask if none is, or nothing is known.
std::vector<int> near_processors(const PciPlace& place, const std::vector<int>& mask);

}  // namespace skyline::machine
