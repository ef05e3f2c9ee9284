#include "machine/pci.hpp"

#include "core/text/wording.hpp"
#include "machine/system_file.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

namespace skyline::machine {
namespace {

namespace fs = std::filesystem;

/// Returns the number at the start of the text, or 0 if there is none ("Unknown").
double leading_number(const std::string& text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns the slower speed of the device and its bridge, with the lanes of the device.
std::string link_text(const fs::path& device) {
  const std::string own = read_system_line(device / "max_link_speed");
  const std::string above = read_system_line(device.parent_path() / "max_link_speed");
  const bool bridge_is_slower = leading_number(above) > 0 && leading_number(above) < leading_number(own);
  std::string speed = bridge_is_slower ? above : own;
  const std::string lanes = read_system_line(device / "current_link_width");
  if (leading_number(speed) <= 0 || leading_number(lanes) <= 0) return {};
  speed = speed.substr(0, speed.find(" PCIe"));
  const std::string most = read_system_line(device / "max_link_width");
  const bool missing = leading_number(lanes) < leading_number(most);
  return speed + " x" + lanes + (missing ? " of x" + most : "");
}

/// Turns /sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0 into pci0000:17, 0000:17:01.0.
std::vector<std::string> bridges_above(const fs::path& device) {
  std::vector<std::string> bridges;
  for (const fs::path& part : device.parent_path()) {
    if (!bridges.empty() || part.string().starts_with("pci")) bridges.push_back(part.string());
  }
  return bridges;
}

PciPlace read_device(const fs::path& link) {
  std::error_code error;
  const fs::path device = fs::canonical(link, error);
  if (error) return {};
  PciPlace place;
  place.address = device.filename().string();
  place.bridges = bridges_above(device);
  const std::string node = read_system_line(device / "numa_node");
  if (!node.empty()) place.numa_node = static_cast<int>(leading_number(node));
  place.near_processors = parse_processor_list(read_system_line(device / "local_cpulist"));
  place.link = link_text(device);
  return place;
}

}  // namespace

PciPlace read_pci_place(const fs::path& root, const std::string& address) {
  const std::string lower = lower_case(address);
  PciPlace place;
  if (!lower.empty()) place = read_device(root / "sys/bus/pci/devices" / lower);
  place.address = lower;
  return place;
}

PciPlace read_pci_place_of(const fs::path& root, const fs::path& class_folder) {
  return read_device(root / class_folder / "device");
}

PciDistance pci_distance(const PciPlace& left, const PciPlace& right) {
  const auto [end, other] = std::ranges::mismatch(left.bridges, right.bridges);
  const auto common = end - left.bridges.begin();
  if (common > 1) return PciDistance::kSameSwitch;
  if (common == 1) return PciDistance::kSameHost;
  return left.numa_node >= 0 && left.numa_node == right.numa_node ? PciDistance::kSameNumaNode
                                                                  : PciDistance::kFar;
}

int count_pci_devices(const fs::path& root, const std::string& vendor, const std::string& class_prefix) {
  const fs::path folder = root / "sys/bus/pci/devices";
  const std::vector<std::string> names = list_system_folder(folder);
  return static_cast<int>(std::ranges::count_if(names, [&](const std::string& name) {
    return read_system_line(folder / name / "vendor") == vendor &&
           read_system_line(folder / name / "class").starts_with(class_prefix);
  }));
}

std::vector<int> near_processors(const PciPlace& place, const std::vector<int>& mask) {
  std::vector<int> near;
  std::ranges::set_intersection(mask, place.near_processors, std::back_inserter(near));
  return near.empty() ? mask : near;
}

}  // namespace skyline::machine
