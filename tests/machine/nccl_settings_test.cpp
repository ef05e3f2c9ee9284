#include "machine/nccl_settings.hpp"

#include "support/fake_system.hpp"

#include <array>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::machine {
namespace {

using testing::FakeSystem;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

FabricPort good_port(const std::string& device, const std::string& layer = "InfiniBand") {
  return {.device = device,
          .link_layer = layer,
          .active = true,
          .state = "active",
          .rate = "400 Gb/s",
          .device_file = "/dev/infiniband/uverbs0",
          .reachable = true};
}

/// Returns the chosen settings that depend on the surroundings.
std::string chosen(NcclSurroundings surroundings) {
  surroundings.set.emplace("NCCL_GRAPH_REGISTER", "0");
  return to_text(choose_nccl_settings(surroundings));
}

TEST(NcclSettings, NameThePortsThatCanBeUsedExactly) {
  NcclSurroundings surroundings{.ports = {good_port("mlx5_0"), good_port("mlx5_1")}};
  EXPECT_EQ(chosen(surroundings), "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 (all ports are active)");
  surroundings.ports[0].active = false;
  EXPECT_EQ(chosen(surroundings), "NCCL_IB_HCA==mlx5_1:1 (the ports that can be used)");
}

TEST(NcclSettings, LeaveEthernetOutWhereThereIsInfiniBand) {
  const NcclSurroundings surroundings{.ports = {good_port("mlx5_0", "Ethernet"), good_port("mlx5_1")}};
  EXPECT_EQ(chosen(surroundings), "NCCL_IB_HCA==mlx5_1:1 (the ports that can be used)");
}

TEST(NcclSettings, TakeRoceWhereThereIsNothingElse) {
  NcclSurroundings surroundings{.ports = {good_port("mlx5_0", "Ethernet")}};
  EXPECT_EQ(chosen(surroundings), "NCCL_IB_HCA==mlx5_0:1 (all ports are active)");
  surroundings.azure = true;
  EXPECT_EQ(chosen(surroundings), "NCCL_IB_DISABLE=1 (no InfiniBand port is active)");
}

TEST(NcclSettings, SwitchInfiniBandOffWhereNoPortCanBeUsedAndSayWhy) {
  EXPECT_EQ(chosen({}), "NCCL_IB_DISABLE=1 (no InfiniBand adapter)");
  NcclSurroundings surroundings{.ports = {good_port("mlx5_0")}};
  surroundings.ports[0].reachable = false;
  EXPECT_EQ(chosen(surroundings),
            "NCCL_IB_DISABLE=1 (mlx5_0 is active, but /dev/infiniband/uverbs0 cannot be opened here)");
  surroundings.ports[0].device_file = "";
  EXPECT_EQ(chosen(surroundings), "NCCL_IB_DISABLE=1 (mlx5_0 is active, but it has no device file here)");
  surroundings.ports[0].active = false;
  EXPECT_EQ(chosen(surroundings), "NCCL_IB_DISABLE=1 (no port is active)");
}

TEST(NcclSettings, LeaveAListThatNcclWouldNotReadToTheEndToNccl) {
  NcclSurroundings surroundings;
  for (int i = 0; i < 33; ++i) surroundings.ports.push_back(good_port("mlx5_" + std::to_string(i)));
  EXPECT_EQ(chosen(surroundings), "");
}

TEST(NcclSettings, TakeTheInterfaceOfMpiElseInfiniBandElseTheDefaultRouteElseTheOnlyOne) {
  NcclSurroundings surroundings{.interfaces = {{.name = "eth0", .default_route = true}, {.name = "ib0"}},
                                .mpi_interface = "ib0",
                                .set = {{"NCCL_NET", "Socket"}}};
  EXPECT_EQ(chosen(surroundings), "NCCL_SOCKET_IFNAME==ib0 (MPI uses it)");
  surroundings.mpi_interface = "10.0.0.0/8";
  surroundings.interfaces[1].over_infiniband = true;
  EXPECT_EQ(chosen(surroundings), "NCCL_SOCKET_IFNAME==ib0 (IP over InfiniBand)");
  surroundings.azure = true;
  EXPECT_EQ(chosen(surroundings), "NCCL_SOCKET_IFNAME==eth0 (the default route)");
  surroundings.azure = false;
  surroundings.interfaces[1].over_infiniband = false;
  EXPECT_EQ(chosen(surroundings), "NCCL_SOCKET_IFNAME==eth0 (the default route)");
  surroundings.interfaces = {{.name = "ib0"}};
  EXPECT_EQ(chosen(surroundings), "NCCL_SOCKET_IFNAME==ib0 (the only one)");
  surroundings.interfaces = {{.name = "ib0"}, {.name = "eth0"}};
  EXPECT_EQ(chosen(surroundings), "") << "which of them other nodes are behind is not known";
}

TEST(NcclSettings, NameAzuresTopologyOfTheGpuWhereItsFileIsThere) {
  FakeSystem system;
  system.write("opt/microsoft/ndv4-topo.xml", "<system/>");
  system.write("opt/microsoft/ndv5-topo.xml", "<system/>");
  const std::filesystem::path folder = system.root() / "opt/microsoft";
  NcclSurroundings surroundings{.azure = true,
                                .gpus = 8,
                                .gpu_name = "NVIDIA H100 80GB HBM3",
                                .topology_folder = folder,
                                .set = {{"NCCL_NET", "IB"}, {"NCCL_GRAPH_REGISTER", "0"}}};
  const auto file_of = [&] {
    const auto settings = choose_nccl_settings(surroundings);
    return settings.empty() ? "" : settings[0].name + "=" + settings[0].value;
  };
  EXPECT_EQ(file_of(), "NCCL_TOPO_FILE=" + (folder / "ndv5-topo.xml").string());
  surroundings.gpu_name = "NVIDIA A100-SXM4-40GB";
  EXPECT_EQ(file_of(), "NCCL_TOPO_FILE=" + (folder / "ndv4-topo.xml").string());
  surroundings.gpus = 4;  // another size of machine: the file is not about it
  EXPECT_EQ(file_of(), "");
  surroundings.gpus = 8;
  surroundings.azure = false;
  EXPECT_EQ(file_of(), "");
  surroundings.azure = true;
  EXPECT_EQ(missing_topology(surroundings), "");
  std::filesystem::remove(folder / "ndv4-topo.xml");
  EXPECT_EQ(file_of(), "");
  EXPECT_EQ(missing_topology(surroundings), (folder / "ndv4-topo.xml").string());
}

TEST(NcclSettings, NeverReplaceWhatIsSet) {
  const NcclSurroundings all{.ports = {good_port("mlx5_0")},
                             .interfaces = {{.name = "eth0", .default_route = true}}};
  ASSERT_THAT(choose_nccl_settings(all), SizeIs(3));
  for (const std::string name : {"NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_NET"}) {
    NcclSurroundings surroundings = all;
    surroundings.set[name] = "x";
    EXPECT_EQ(chosen(surroundings), "NCCL_SOCKET_IFNAME==eth0 (the default route)") << name;
    surroundings.set["NCCL_SOCKET_IFNAME"] = "eth";
    EXPECT_EQ(chosen(surroundings), "");
  }
}

TEST(NcclSettings, LetRecordedOperationsWaitForNobody) {
  NcclSurroundings surroundings{.set = {{"NCCL_NET", "Socket"}}};
  EXPECT_EQ(to_text(choose_nccl_settings(surroundings)),
            "NCCL_GRAPH_REGISTER=0 (a rank may refuse to record)");
  surroundings.set["NCCL_GRAPH_REGISTER"] = "1";
  EXPECT_THAT(choose_nccl_settings(surroundings), IsEmpty());
}

TEST(ReadNcclSettings, ReadsTheEnvironmentThenTheUsersFileThenTheMachines) {
  FakeSystem system;
  system.write("home/.nccl.conf", "NCCL_DEBUG=WARN\n# NCCL_NET=IB\nNCCL_TOPO_FILE=/a.xml");
  system.write("etc/nccl.conf", "NCCL_TOPO_FILE=/b.xml\nNCCL_IB_HCA=mlx5\nPATH=/bin");
  const std::array<const char*, 4> environment{"PATH=/bin", "NCCL_DEBUG=INFO", "NCCL_X", nullptr};
  EXPECT_THAT(read_nccl_settings(system.root(), system.root() / "home", environment.data()),
              UnorderedElementsAre(Pair("NCCL_DEBUG", "INFO"), Pair("NCCL_TOPO_FILE", "/a.xml"),
                                   Pair("NCCL_IB_HCA", "mlx5")));
}

TEST(ReadNcclSettings, ReadsTheFileThatTheEnvironmentNamesInsteadOfTheUsers) {
  FakeSystem system;
  system.write("home/.nccl.conf", "NCCL_DEBUG=WARN");
  system.write("other.conf", "NCCL_NET=Socket");
  const std::string named = "NCCL_CONF_FILE=" + (system.root() / "other.conf").string();
  const std::array<const char*, 2> environment{named.c_str(), nullptr};
  const auto settings = read_nccl_settings(system.root(), system.root() / "home", environment.data());
  EXPECT_TRUE(settings.contains("NCCL_NET"));
  EXPECT_FALSE(settings.contains("NCCL_DEBUG"));
}

TEST(ReadNcclSurroundings, ReadsTheMachine) {
  FakeSystem system;
  system.add(testing::FakePciDevice{.path = "pci0000:17/0000:17:00.0"});
  system.add(testing::FakePort{.device = "mlx5_0", .verbs = "uverbs0"});
  system.write("proc/net/route", "Iface\tDestination\neth0\t00000000\t0100000A\n");
  system.write("etc/nccl.conf", "NCCL_IB_TIMEOUT=22");
  const NcclSurroundings surroundings = read_nccl_surroundings(system.root());
  EXPECT_THAT(surroundings.ports, SizeIs(1));
  EXPECT_THAT(surroundings.interfaces, SizeIs(1));
  EXPECT_EQ(surroundings.gpus, 1);
  EXPECT_FALSE(surroundings.azure);
  EXPECT_TRUE(surroundings.set.contains("NCCL_IB_TIMEOUT"));
}

TEST(Apply, PutsSettingsIntoTheEnvironment) {
  apply({{"NCCL_SKYLINE_TEST", "7", "a test"}});
  EXPECT_STREQ(std::getenv("NCCL_SKYLINE_TEST"), "7");
  unsetenv("NCCL_SKYLINE_TEST");
}

}  // namespace
}  // namespace skyline::machine
