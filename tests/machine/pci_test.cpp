#include "machine/pci.hpp"

#include "machine/system_file.hpp"
#include "support/fake_system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::machine {
namespace {

using ::testing::ElementsAre;
using testing::FakeSystem;
using ::testing::IsEmpty;

const std::string kSwitch = "pci0000:17/0000:17:01.0/0000:18:00.0";
const std::string kGpu = kSwitch + "/0000:19:00.0/0000:1b:00.0";

TEST(PciPlace, SaysWhereADeviceSitsInItsNode) {
  FakeSystem system;
  system.add({.path = kGpu, .numa_node = 1, .processors = "2-3,8"});
  const PciPlace place = read_pci_place(system.root(), "0000:1B:00.0");
  EXPECT_EQ(place.address, "0000:1b:00.0");
  EXPECT_THAT(place.bridges, ElementsAre("pci0000:17", "0000:17:01.0", "0000:18:00.0", "0000:19:00.0"));
  EXPECT_EQ(place.numa_node, 1);
  EXPECT_THAT(place.near_processors, ElementsAre(2, 3, 8));
  EXPECT_EQ(place.link, "");
}

TEST(PciPlace, KnowsNothingOfADeviceThatTheSystemDoesNotName) {
  FakeSystem system;
  for (const std::string address : {"0000:1b:00.0", ""}) {
    const PciPlace place = read_pci_place(system.root(), address);
    EXPECT_EQ(place.address, address);
    EXPECT_THAT(place.bridges, IsEmpty());
    EXPECT_EQ(place.numa_node, -1);
  }
}

TEST(PciPlace, GivesTheSpeedThatBothEndsOfTheLinkCanDo) {
  FakeSystem system;
  system.add({.path = kGpu});
  const std::filesystem::path place = "sys/devices/" + kGpu;
  system.write(place / "max_link_speed", "32.0 GT/s PCIe");
  system.write(place / "max_link_width", "16");
  system.write(place / "current_link_width", "16");
  system.write(place / "current_link_speed", "2.5 GT/s PCIe");  // speed of an idle link
  EXPECT_EQ(read_pci_place(system.root(), "0000:1b:00.0").link, "32.0 GT/s x16");
  system.write(place.parent_path() / "max_link_speed", "16.0 GT/s PCIe");
  EXPECT_EQ(read_pci_place(system.root(), "0000:1b:00.0").link, "16.0 GT/s x16");
  system.write(place / "current_link_width", "8");
  EXPECT_EQ(read_pci_place(system.root(), "0000:1b:00.0").link, "16.0 GT/s x8 of x16");
}

TEST(PciPlace, SaysNothingOfALinkThatTheSystemDoesNotKnow) {
  FakeSystem system;
  system.add({.path = "pci0001:00/0001:00:00.0"});
  system.write("sys/devices/pci0001:00/0001:00:00.0/max_link_speed", "Unknown");
  system.write("sys/devices/pci0001:00/0001:00:00.0/current_link_width", "0");
  EXPECT_EQ(read_pci_place(system.root(), "0001:00:00.0").link, "");
}

TEST(PciDistance, CountsTheBridgesThatTwoDevicesShare) {
  const PciPlace gpu{.bridges = {"pci0000:17", "0000:17:01.0", "0000:18:00.0"}, .numa_node = 0};
  const PciPlace beside{.bridges = {"pci0000:17", "0000:17:01.0", "0000:19:00.0"}, .numa_node = 0};
  const PciPlace other_slot{.bridges = {"pci0000:17", "0000:17:03.0"}, .numa_node = 0};
  const PciPlace other_host{.bridges = {"pci0000:40", "0000:40:01.0"}, .numa_node = 0};
  const PciPlace other_socket{.bridges = {"pci0000:80", "0000:80:01.0"}, .numa_node = 1};
  EXPECT_EQ(pci_distance(gpu, beside), PciDistance::kSameSwitch);
  EXPECT_EQ(pci_distance(gpu, other_slot), PciDistance::kSameHost);
  EXPECT_EQ(pci_distance(gpu, other_host), PciDistance::kSameNumaNode);
  EXPECT_EQ(pci_distance(gpu, other_socket), PciDistance::kFar);
  EXPECT_EQ(pci_distance(PciPlace{}, PciPlace{}), PciDistance::kFar)
      << "nothing known is not nothing between";
}

TEST(CountPciDevices, CountsThoseOfAVendorAndAClass) {
  FakeSystem system;
  system.add({.path = "pci0000:17/0000:17:00.0"});
  system.add({.path = "pci0000:17/0000:18:00.0"});
  system.add({.path = "pci0000:17/0000:19:00.0", .vendor = "0x10de", .device_class = "0x068000"});
  system.add({.path = "pci0000:17/0000:1a:00.0", .vendor = "0x15b3", .device_class = "0x020700"});
  EXPECT_EQ(count_pci_devices(system.root(), "0x10de", "0x0302"), 2);
  EXPECT_EQ(count_pci_devices(system.root(), "0x10de", "0x0680"), 1);
  EXPECT_EQ(count_pci_devices(system.root(), "0x1002", "0x0302"), 0);
}

TEST(NearProcessors, KeepsTheMaskWhereNoneOfItIsNear) {
  const PciPlace place{.near_processors = {0, 1, 2, 3}};
  EXPECT_THAT(near_processors(place, {2, 3, 4}), ElementsAre(2, 3));
  EXPECT_THAT(near_processors(place, {4, 5}), ElementsAre(4, 5));
  EXPECT_THAT(near_processors(PciPlace{}, {4, 5}), ElementsAre(4, 5));
}

TEST(ParseProcessorList, LeavesOutWhatIsNoList) {
  EXPECT_THAT(parse_processor_list("0-2,5,7-7"), ElementsAre(0, 1, 2, 5, 7));
  EXPECT_THAT(parse_processor_list(""), IsEmpty());
  EXPECT_THAT(parse_processor_list("a,3-,4,-1,1-99999999999"), ElementsAre(4));
}

}  // namespace
}  // namespace skyline::machine
