#include "comm/agreement.hpp"
#include "machine/device_binding.hpp"
#include "support/mpi_test.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::comm {
namespace {

using ::testing::ElementsAre;

class DeviceExchangeTest : public testing::MpiTest {};

TEST_F(DeviceExchangeTest, BringsEveryRanksViewToTheFirst) {
  machine::RankView mine{.host = "node " + std::to_string(rank()),
                         .node = rank() / 2,
                         .trains = rank() != 0,
                         .processors = {rank(), rank() + 4},
                         .reason = std::string(static_cast<std::size_t>(rank()), 'r')};
  if (rank() == 1) {
    const machine::PciPlace place{.address = "0000:1b:00.0",
                                  .bridges = {"pci0000:17", "0000:17:01.0"},
                                  .numa_node = 1,
                                  .near_processors = {1, 5},
                                  .link = "32.0 GT/s x16"};
    mine.devices = {{.identity = "id", .name = "GPU", .place = place, .exclusive = true}};
    mine.ports = {{.device = "mlx5_1",
                   .port = 2,
                   .link_layer = "InfiniBand",
                   .active = true,
                   .state = "active",
                   .rate = "400 Gb/s",
                   .device_file = "/dev/infiniband/uverbs1",
                   .reachable = true,
                   .board = "board",
                   .firmware = "28",
                   .place = place}};
    mine.nv_switches = 4;
  }
  const std::vector<machine::RankView> views = gather(world(), mine);
  EXPECT_EQ(views.size(), rank() == 0 ? static_cast<std::size_t>(size()) : 0);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto number = static_cast<int>(i);
    EXPECT_EQ(views[i].host, "node " + std::to_string(i));
    EXPECT_EQ(views[i].node, number / 2);
    EXPECT_EQ(views[i].trains, i != 0);
    EXPECT_THAT(views[i].processors, ElementsAre(number, number + 4));
    EXPECT_EQ(views[i].reason, std::string(i, 'r'));
  }
  if (views.size() < 2) return;
  EXPECT_EQ(views[1].devices.at(0).identity, "id");
  EXPECT_EQ(views[1].devices.at(0).name, "GPU");
  EXPECT_THAT(views[1].devices.at(0).place.bridges, ElementsAre("pci0000:17", "0000:17:01.0"));
  EXPECT_THAT(views[1].devices.at(0).place.near_processors, ElementsAre(1, 5));
  EXPECT_EQ(views[1].devices.at(0).place.link, "32.0 GT/s x16");
  EXPECT_TRUE(views[1].devices.at(0).exclusive);
  EXPECT_EQ(views[1].ports.at(0).name(), "mlx5_1:2");
  EXPECT_EQ(views[1].ports.at(0).rate, "400 Gb/s");
  EXPECT_EQ(views[1].ports.at(0).firmware, "28");
  EXPECT_EQ(views[1].ports.at(0).place.numa_node, 1);
  EXPECT_TRUE(views[1].ports.at(0).usable());
  EXPECT_EQ(views[1].nv_switches, 4);
}

}  // namespace
}  // namespace skyline::comm
