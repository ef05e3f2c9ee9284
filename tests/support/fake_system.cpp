#include "support/fake_system.hpp"

#include <fstream>

namespace skyline::machine::testing {

namespace fs = std::filesystem;

void FakeSystem::write(const fs::path& file, const std::string& text) {
  fs::create_directories((root() / file).parent_path());
  std::ofstream(root() / file) << text << '\n';
}

/// A relative link, as the system's own are.
void FakeSystem::link(const fs::path& from, const fs::path& to) {
  fs::create_directories((root() / from).parent_path());
  fs::create_directories(root() / to);
  fs::create_symlink(fs::relative(root() / to, (root() / from).parent_path()), root() / from);
}

void FakeSystem::add(const FakePciDevice& device) {
  const fs::path place = "sys/devices" / fs::path(device.path);
  write(place / "vendor", device.vendor);
  write(place / "class", device.device_class);
  write(place / "numa_node", std::to_string(device.numa_node));
  write(place / "local_cpulist", device.processors);
  link("sys/bus/pci/devices" / place.filename(), place);
}

void FakeSystem::add(const FakePort& port) {
  const fs::path folder = fs::path("sys/class/infiniband") / port.device;
  const fs::path own = folder / "ports" / port.number;
  write(own / "state", port.state);
  write(own / "phys_state", port.phys_state);
  write(own / "link_layer", port.link_layer);
  write(own / "rate", port.rate);
  if (port.number != "1") return;  // the rest is the adapter's
  write(folder / "fw_ver", "28.39.2048");
  write(folder / "board_id", "MT_0000000838");
  if (!port.pci_path.empty()) link(folder / "device", "sys/devices" / fs::path(port.pci_path));
  if (port.verbs.empty()) return;
  const bool hidden = port.verbs.front() == '-';
  const std::string verbs = port.verbs.substr(hidden ? 1 : 0);
  write(fs::path("sys/class/infiniband_verbs") / verbs / "ibdev", port.device);
  if (!hidden) write(fs::path("dev/infiniband") / verbs, "");
}

}  // namespace skyline::machine::testing
