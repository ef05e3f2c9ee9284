#pragma once

#include "support/scratch_folder.hpp"

#include <filesystem>
#include <string>

namespace skyline::machine::testing {

/// A test's description of a PCI device; its place is a path below /sys/devices.
struct FakePciDevice {
  std::string path = {};  // "pci0000:17/0000:17:01.0/0000:18:00.0"
  int numa_node = -1;
  std::string processors = {};  // "0-3"
  std::string vendor = "0x10de";
  std::string device_class = "0x030200";
};

struct FakePort {
  std::string device = {};  // "mlx5_0"
  std::string pci_path = {};
  std::string link_layer = "InfiniBand";
  std::string state = "4: ACTIVE";
  std::string phys_state = "5: LinkUp";
  std::string rate = "400 Gb/sec (4X NDR)";
  std::string verbs = {};  // "uverbs0": its file is there; "-uverbs0": known to the system, not visible here
  std::string number = "1";
};

/// A folder with the files that a Linux system describes its devices by, gone with the object.
class FakeSystem {
 public:
  const std::filesystem::path& root() const { return folder_.path(); }
  void write(const std::filesystem::path& file, const std::string& text);
  /// Adds the device; those above it on its path need no files.
  void add(const FakePciDevice& device);
  void add(const FakePort& port);

 private:
  void link(const std::filesystem::path& from, const std::filesystem::path& to);

  skyline::testing::ScratchFolder folder_;
};

}  // namespace skyline::machine::testing
