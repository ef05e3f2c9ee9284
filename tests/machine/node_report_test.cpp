#include "machine/node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceView gpu(const std::string& address, int numa_node, const std::string& host_bridge) {
  return {.identity = address,
          .name = "NVIDIA H100 80GB HBM3",
          .place = {
              .address = address, .bridges = {host_bridge}, .numa_node = numa_node, .link = "32.0 GT/s x16"}};
}

/// Two GPUs on each of two sockets.
std::vector<DeviceView> four_gpus() {
  return {gpu("0000:10:00.0", 0, "pci0000:10"), gpu("0000:20:00.0", 0, "pci0000:20"),
          gpu("0000:80:00.0", 1, "pci0000:80"), gpu("0000:90:00.0", 1, "pci0000:90")};
}

std::vector<RankView> node_with(std::size_t ranks, const std::vector<DeviceView>& devices) {
  return std::vector<RankView>(ranks, RankView{.host = "node01", .processors = {0, 1}, .devices = devices});
}

FabricPort port(const std::string& device, const std::string& host_bridge, int numa_node) {
  return {.device = device,
          .link_layer = "InfiniBand",
          .active = true,
          .state = "active",
          .rate = "400 Gb/s",
          .device_file = "/dev/infiniband/uverbs0",
          .reachable = true,
          .firmware = "28.39.2048",
          .place = {.bridges = {host_bridge}, .numa_node = numa_node}};
}

std::string gpus_of(const std::vector<RankView>& ranks) {
  return describe_gpus(ranks, bind_devices(ranks));
}

TEST(DescribeGpus, SaysWhatThereIsWhereItSitsAndWhoTrainsOnIt) {
  EXPECT_EQ(gpus_of(node_with(4, four_gpus())),
            "4 x NVIDIA H100 80GB HBM3 (NUMA 0,0,1,1; PCIe 32.0 GT/s x16), a rank on each");
  EXPECT_EQ(gpus_of(node_with(1, {four_gpus()[0]})),
            "1 x NVIDIA H100 80GB HBM3 (NUMA 0; PCIe 32.0 GT/s x16), a rank on it");
  EXPECT_EQ(gpus_of(node_with(1, four_gpus())),
            "4 x NVIDIA H100 80GB HBM3 (NUMA 0,0,1,1; PCIe 32.0 GT/s x16), its rank 0 on GPU 0");
}

TEST(DescribeGpus, NamesDevicesByTheNodeWhateverEachRankSees) {
  auto ranks = node_with(2, {});
  ranks[0].devices = {four_gpus()[2]};
  ranks[1].devices = {four_gpus()[0]};
  EXPECT_THAT(gpus_of(ranks), HasSubstr("its ranks 0,1 on GPU 1,0"));
}

TEST(DescribeGpus, SaysNothingOfWhatIsNotKnown) {
  EXPECT_EQ(gpus_of(node_with(2, {})), "");
  EXPECT_EQ(gpus_of(node_with(1, {{.identity = "a", .name = "GPU", .place = {}}})), "1 x GPU, a rank on it");
}

TEST(DescribeGpus, CountsSwitchesOfNvLink) {
  auto ranks = node_with(1, {four_gpus()[0]});
  ranks[0].nv_switches = 4;
  EXPECT_THAT(gpus_of(ranks), HasSubstr("x16; 4 NVSwitches)"));
}

TEST(DescribeFabric, SaysWhichPortsAreActiveAndWhichGpusAreNear) {
  auto ranks = node_with(4, four_gpus());
  ranks[0].ports = {port("mlx5_0", "pci0000:10", 0), port("mlx5_1", "pci0000:30", 1), port("mlx5_2", "", 0)};
  ranks[0].ports[2].active = false;
  ranks[0].ports[2].state = "down (polling)";
  EXPECT_EQ(describe_fabric(ranks),
            "InfiniBand mlx5_0 400 Gb/s active (near GPU 0), mlx5_1 400 Gb/s active (near GPU 2,3), mlx5_2 "
            "down (polling); firmware 28.39.2048");
}

TEST(DescribeFabric, TellsEthernetAndPortsThatCannotBeOpened) {
  auto ranks = node_with(1, {});
  ranks[0].ports = {port("mlx5_0", "", 0), port("mlx5_1", "", 0)};
  ranks[0].ports[0].reachable = false;
  ranks[0].ports[1].link_layer = "Ethernet";
  ranks[0].ports[1].firmware = "28.40.1000";
  EXPECT_EQ(describe_fabric(ranks),
            "InfiniBand mlx5_0 400 Gb/s active, but /dev/infiniband/uverbs0 cannot be opened, RoCE mlx5_1 "
            "400 Gb/s active; firmware 28.39.2048 and 28.40.1000");
}

TEST(DescribeFabric, SaysNothingWhereThereIsNone) {
  EXPECT_EQ(describe_fabric(node_with(1, four_gpus())), "");
}

std::vector<std::string> warnings_of(const std::vector<RankView>& ranks, bool groups = false) {
  return binding_warnings(ranks, bind_devices(ranks), groups);
}

TEST(BindingWarnings, AreNoneWithARankAGpu) {
  EXPECT_THAT(warnings_of(node_with(4, four_gpus()), true), IsEmpty());
  EXPECT_THAT(warnings_of(node_with(4, {})), IsEmpty());
}

TEST(BindingWarnings, SuggestSlotsWhereRanksShareAGpu) {
  EXPECT_THAT(warnings_of(node_with(8, four_gpus())),
              ElementsAre("8 ranks share 4 GPUs, 2 on each: a rank a GPU with several slots (--slots) does "
                          "the same with less memory"));
  EXPECT_THAT(warnings_of(node_with(5, four_gpus())),
              ElementsAre(HasSubstr("5 ranks share 4 GPUs, up to 2 on each")));
}

TEST(BindingWarnings, CountGpusThatStayIdle) {
  EXPECT_THAT(warnings_of(node_with(3, four_gpus())),
              ElementsAre("1 of 4 GPUs is used by no rank: start 4 ranks that train on the node"));
}

TEST(BindingWarnings, SayThatConfinedRanksCannotReachEachOthersGpus) {
  auto ranks = node_with(2, {});
  ranks[0].devices = {four_gpus()[0]};
  ranks[1].devices = {four_gpus()[1]};
  EXPECT_THAT(warnings_of(ranks, true), ElementsAre(HasSubstr("--gpus-per-node lets all ranks see all")));
  EXPECT_THAT(warnings_of(ranks, false), IsEmpty()) << "no groups, nothing to reach";
}

TEST(LinesByHost, SayTheSameOfSeveralHostsOnce) {
  EXPECT_THAT(lines_by_host({{"a", "x"}, {"b", "y"}, {"c", "x"}, {"a", "x"}, {"d", ""}}),
              ElementsAre("a, c: x", "b: y"));
}

TEST(HostList, NamesTheFirstOfMany) {
  EXPECT_EQ(host_list({"a", "b", "c", "d"}), "a, b, c, d");
  EXPECT_EQ(host_list({"a", "b", "c", "d", "e", "e"}), "a, b, c and 2 more");
}

}  // namespace
}  // namespace skyline::machine
