#include "machine/fabric.hpp"

#include "support/fake_system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::machine {
namespace {

using ::testing::ElementsAre;
using testing::FakeSystem;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(FabricPorts, AreNoneOnAMachineWithoutAdapters) {
  FakeSystem system;
  EXPECT_THAT(read_fabric_ports(system.root()), IsEmpty());
}

TEST(FabricPorts, AreReadFromTheSystemsFiles) {
  FakeSystem system;
  system.add(
      testing::FakePort{.device = "mlx5_0", .pci_path = "pci0000:17/0000:18:00.0", .verbs = "uverbs0"});
  const auto ports = read_fabric_ports(system.root());
  ASSERT_THAT(ports, SizeIs(1));
  EXPECT_EQ(ports[0].name(), "mlx5_0");
  EXPECT_EQ(ports[0].link_layer, "InfiniBand");
  EXPECT_EQ(ports[0].rate, "400 Gb/s");
  EXPECT_EQ(ports[0].device_file, "/dev/infiniband/uverbs0");
  EXPECT_EQ(ports[0].firmware, "28.39.2048");
  EXPECT_EQ(ports[0].board, "MT_0000000838");
  EXPECT_EQ(ports[0].place.address, "0000:18:00.0");
  EXPECT_TRUE(ports[0].usable());
}

TEST(FabricPorts, ComeInTheOrderOfTheirNumbers) {
  FakeSystem system;
  for (const std::string device : {"mlx5_10", "mlx5_2", "mlx5_ib0"}) {
    system.add(testing::FakePort{.device = device});
  }
  system.add(testing::FakePort{.device = "mlx5_2", .number = "2"});
  std::vector<std::string> names;
  for (const FabricPort& port : read_fabric_ports(system.root())) names.push_back(port.name());
  EXPECT_THAT(names, ElementsAre("mlx5_2", "mlx5_2:2", "mlx5_10", "mlx5_ib0"));
}

TEST(FabricPorts, SayWhatIsWrongWithThem) {
  FakeSystem system;
  system.add(testing::FakePort{
      .device = "mlx5_0", .state = "1: DOWN", .phys_state = "2: Polling", .verbs = "uverbs0"});
  system.add(testing::FakePort{.device = "mlx5_1", .state = "2: INIT", .verbs = "uverbs1"});
  system.add(testing::FakePort{.device = "mlx5_2", .verbs = "-uverbs2"});
  system.add(testing::FakePort{.device = "mlx5_3"});
  const auto ports = read_fabric_ports(system.root());
  ASSERT_THAT(ports, SizeIs(4));
  EXPECT_EQ(ports[0].state, "down (polling)");
  EXPECT_EQ(ports[1].state, "init");
  EXPECT_TRUE(ports[2].active);
  EXPECT_EQ(ports[2].device_file, "/dev/infiniband/uverbs2");
  EXPECT_EQ(ports[3].device_file, "");
  for (const FabricPort& port : ports) EXPECT_FALSE(port.usable()) << port.name();
}

const std::string kRouteHead = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n";

TEST(NetworkInterfaces, PutTheDefaultRouteFirst) {
  FakeSystem system;
  system.write("proc/net/route", kRouteHead +
                                     "ib0\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF\n"
                                     "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t0000FFFF\n"
                                     "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\n");
  system.write("sys/class/net/ib0/type", "32");
  system.write("sys/class/net/eth0/type", "1");
  const auto interfaces = read_network_interfaces(system.root());
  EXPECT_THAT(interfaces,
              ElementsAre(Field(&NetworkInterface::name, "eth0"), Field(&NetworkInterface::name, "ib0")));
  EXPECT_TRUE(interfaces[0].default_route);
  EXPECT_FALSE(interfaces[1].default_route);
  EXPECT_FALSE(interfaces[0].over_infiniband);
  EXPECT_TRUE(interfaces[1].over_infiniband);
}

TEST(NetworkInterfaces, LeaveOutThoseThatNoOtherNodeIsBehind) {
  FakeSystem system;
  system.write("proc/net/route", kRouteHead +
                                     "lo\t0000007F\t00000000\t0001\n"
                                     "docker0\t000011AC\t00000000\t0001\n"
                                     "br-12ab\t000012AC\t00000000\t0001\n"
                                     "veth1\t000013AC\t00000000\t0001\n"
                                     "ens3\t0000000A\t00000000\t0001\n");
  EXPECT_THAT(read_network_interfaces(system.root()), ElementsAre(Field(&NetworkInterface::name, "ens3")));
}

TEST(NetworkInterfaces, AreNoneWhereTheSystemNamesNone) {
  FakeSystem system;
  EXPECT_THAT(read_network_interfaces(system.root()), IsEmpty());
}

TEST(Azure, IsKnownByItsTag) {
  FakeSystem system;
  EXPECT_FALSE(is_azure(system.root()));
  system.write("sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77");
  EXPECT_TRUE(is_azure(system.root()));
}

}  // namespace
}  // namespace skyline::machine
