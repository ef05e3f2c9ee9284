#include "machine/device_binding.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::machine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;

std::vector<int> processors(int first, int count) {
  std::vector<int> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), first);
  return list;
}

/// GPU `number` of a node with two sockets of eight processors each; the first half is near the first.
DeviceView gpu(int number, int gpus) {
  const int socket = 2 * number < gpus ? 0 : 1;
  const std::string address = "0000:" + std::to_string(10 + number) + ":00.0";
  return {.identity = address,
          .name = "GPU",
          .place = {.address = address, .numa_node = socket, .near_processors = processors(8 * socket, 8)}};
}

RankView rank_with(std::vector<DeviceView> devices, std::vector<int> mask = processors(0, 16)) {
  return {.host = "node01", .processors = std::move(mask), .devices = std::move(devices)};
}

RankView sees_all(int gpus, std::vector<int> mask = processors(0, 16)) {
  std::vector<DeviceView> devices;
  for (int i = 0; i < gpus; ++i) devices.push_back(gpu(i, gpus));
  return rank_with(std::move(devices), std::move(mask));
}

std::vector<int> bound(const std::vector<RankView>& ranks) {
  std::vector<int> devices;
  for (const RankBinding& binding : bind_devices(ranks)) devices.push_back(binding.device);
  return devices;
}

TEST(BindDevices, GivesRankIDeviceIWhereAllSeeAll) {  // mpirun, srun --gpus-per-node, Azure ML
  EXPECT_THAT(bound(std::vector<RankView>(4, sees_all(4))), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(bound({sees_all(1)}), ElementsAre(0));
}

TEST(BindDevices, GivesARankTheOneDeviceThatItSees) {  // srun --gpus-per-task
  EXPECT_THAT(bound({rank_with({gpu(0, 3)}), rank_with({gpu(1, 3)}), rank_with({gpu(2, 3)})}),
              ElementsAre(0, 0, 0));
}

TEST(BindDevices, SharesDevicesEvenlyAmongMoreRanks) {
  EXPECT_THAT(bound(std::vector<RankView>(4, sees_all(2))), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(bound(std::vector<RankView>(5, sees_all(2))), ElementsAre(0, 1, 0, 1, 0));
}

TEST(BindDevices, LeavesDevicesIdleWhereRanksAreFewer) {
  EXPECT_THAT(bound(std::vector<RankView>(2, sees_all(4))), ElementsAre(0, 1));
}

TEST(BindDevices, PrefersADeviceNearTheRanksProcessors) {
  EXPECT_THAT(bound({sees_all(2, processors(8, 8)), sees_all(2, processors(0, 8))}), ElementsAre(1, 0));
  EXPECT_THAT(bound({sees_all(4, processors(0, 4)), sees_all(4, processors(8, 4)),
                     sees_all(4, processors(4, 4)), sees_all(4, processors(12, 4))}),
              ElementsAre(0, 2, 1, 3));
}

TEST(BindDevices, PrefersAnIdleDeviceThatIsFarToASharedOneThatIsNear) {
  EXPECT_THAT(bound(std::vector<RankView>(3, sees_all(4, processors(0, 8)))), ElementsAre(0, 1, 2));
}

TEST(BindDevices, LetsTheRankThatHasAChoiceMakeRoomForTheOneThatHasNone) {
  EXPECT_THAT(bound({sees_all(2), rank_with({gpu(0, 2)})}), ElementsAre(1, 0));
}

TEST(BindDevices, CountsByTheRanksOwnLists) {
  EXPECT_THAT(bound({rank_with({gpu(1, 2), gpu(0, 2)}), rank_with({gpu(1, 2), gpu(0, 2)})}),
              ElementsAre(1, 0));
}

TEST(BindDevices, KeepsTwoInstancesOfOneGpuApart) {
  DeviceView left = gpu(0, 1);
  left.identity = device_identity(left.place.address, "MIG-1");
  DeviceView right = gpu(0, 1);
  right.identity = device_identity(right.place.address, "MIG-2,MIG-3");
  const std::vector<RankView> ranks{rank_with({left}), rank_with({right})};
  EXPECT_EQ(devices_of_node(ranks).size(), 2);
  EXPECT_THAT(bound(ranks), ElementsAre(0, 0));
}

TEST(BindDevices, GivesNothingToARankThatDoesNotTrainOrSeesNothing) {
  RankView coordinator = sees_all(2);
  coordinator.trains = false;
  EXPECT_THAT(bound({coordinator, sees_all(2), rank_with({}), sees_all(2)}), ElementsAre(-1, 0, -1, 1));
}

TEST(BindDevices, MovesRanksToTheProcessorsNearTheirDevices) {
  const auto bindings = bind_devices(std::vector<RankView>(4, sees_all(4)));
  EXPECT_EQ(bindings[0].processors, processors(0, 4));
  EXPECT_EQ(bindings[1].processors, processors(4, 4));
  EXPECT_EQ(bindings[2].processors, processors(8, 4));
  EXPECT_EQ(bindings[3].processors, processors(12, 4));
  const auto two = bind_devices(std::vector<RankView>(2, sees_all(2)));
  EXPECT_EQ(two[1].processors, processors(8, 8));
}

TEST(BindDevices, NeverLeavesARanksMask) {
  const auto bindings = bind_devices({rank_with({gpu(1, 2)}, {0, 1})});
  EXPECT_THAT(bindings[0].processors, ElementsAre(0, 1));
}

TEST(BindDevices, SharesOutProcessorsWhereThereIsNoDevice) {
  const auto bindings = bind_devices(std::vector<RankView>(2, rank_with({}, {0, 1, 2, 3})));
  EXPECT_THAT(bindings, Each(Field(&RankBinding::device, -1)));
  EXPECT_THAT(bindings[1].processors, ElementsAre(2, 3));
}

/// Least possible load of the fullest device, by trying all bindings.
std::size_t least_load(const std::vector<RankView>& ranks, std::size_t rank,
                       std::map<std::string, std::size_t>& load) {
  if (rank == ranks.size()) {
    std::size_t most = 0;
    for (const auto& [identity, users] : load) most = std::max(most, users);
    return most;
  }
  if (ranks[rank].devices.empty()) return least_load(ranks, rank + 1, load);
  std::size_t best = ranks.size();
  for (const DeviceView& device : ranks[rank].devices) {
    ++load[device.identity];
    best = std::min(best, least_load(ranks, rank + 1, load));
    --load[device.identity];
  }
  return best;
}

TEST(BindDevices, IsAsEvenAsTheListsAllowOnRandomLists) {
  RandomStream random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<RankView> ranks;
    const std::size_t count = 1 + random.below(6);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<DeviceView> devices;
      for (int device = 0; device < 4; ++device) {
        if (random.below(2) == 1) devices.push_back(gpu(device, 4));
      }
      ranks.push_back(rank_with(std::move(devices), processors(static_cast<int>(8 * random.below(2)), 8)));
    }
    std::map<std::string, std::size_t> load;
    const std::vector<int> devices = bound(ranks);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(devices[i] < 0, ranks[i].devices.empty());
      if (devices[i] >= 0) ++load[ranks[i].devices.at(static_cast<std::size_t>(devices[i])).identity];
    }
    std::size_t most = 0;
    for (const auto& [identity, users] : load) most = std::max(most, users);
    std::map<std::string, std::size_t> none;
    ASSERT_EQ(most, least_load(ranks, 0, none)) << "round " << round;
  }
}

TEST(BindAllNodes, TreatsNodesApart) {
  std::vector<RankView> ranks(4, sees_all(2));
  ranks[1].node = 1;
  ranks[3].node = 1;
  std::vector<int> devices;
  for (const RankBinding& binding : bind_all_nodes(ranks)) devices.push_back(binding.device);
  EXPECT_THAT(devices, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(ranks_of_nodes(ranks), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

TEST(DeviceIdentity, IsTheAddressUnlessTheDeviceIsAPartOfAGpu) {
  EXPECT_EQ(device_identity("0000:1b:00.0", nullptr), "0000:1b:00.0");
  EXPECT_EQ(device_identity("0000:1b:00.0", "1,2"), "0000:1b:00.0");
  EXPECT_EQ(device_identity("0000:1b:00.0", "GPU-8d2f"), "0000:1b:00.0");
  EXPECT_EQ(device_identity("0000:1b:00.0", "MIG-9a,MIG-9b"), "0000:1b:00.0 MIG-9a");
}

}  // namespace
}  // namespace skyline::machine
