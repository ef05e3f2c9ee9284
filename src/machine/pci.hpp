#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::machine {

/// The place of a PCI device in its node, from the system's files. Members are empty if they are unknown.
struct PciPlace {
  std::string address = {};  // e.g. "0000:1b:00.0"
  /// Bridges from the host bridge down to the one above the device, e.g. "pci0000:17", "0000:17:01.0".
  std::vector<std::string> bridges = {};
  int numa_node = -1;                     // -1 if unknown
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

/// Reads the place of the device with this address.
/// @param root     root of the file system; tests use another one than "/"
/// @param address  in small or capital letters, e.g. "0000:1B:00.0"
PciPlace read_pci_place(const std::filesystem::path& root, const std::string& address);

/// Reads the place of the PCI device to which a folder of /sys/class belongs, e.g.
/// /sys/class/infiniband/mlx5_0.
PciPlace read_pci_place_of(const std::filesystem::path& root, const std::filesystem::path& class_folder);

PciDistance pci_distance(const PciPlace& left, const PciPlace& right);

/// Counts the node's PCI devices of this vendor and class, e.g. "0x10de", "0x0302". Devices that this process
/// may not use count too.
int count_pci_devices(const std::filesystem::path& root, const std::string& vendor,
                      const std::string& class_prefix);

/// Returns the processors of the mask that are near the device. Returns the whole mask if none is, or if
/// nothing is known.
std::vector<int> near_processors(const PciPlace& place, const std::vector<int>& mask);

}  // namespace skyline::machine
