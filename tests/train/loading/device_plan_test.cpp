#include "train/loading/device_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using machine::RankView;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RankView with_gpus(int node, int gpus, const std::string& name = "NVIDIA H100") {
  RankView rank{.host = "node0" + std::to_string(node + 1), .node = node, .processors = {0, 1, 2, 3}};
  for (int i = 0; i < gpus; ++i) {
    rank.devices.push_back({.identity = "0000:1" + std::to_string(i) + ":00.0", .name = name, .place = {}});
  }
  return rank;
}

RankView without_gpu(int node, const std::string& reason) {
  RankView rank = with_gpus(node, 0);
  rank.reason = reason;
  return rank;
}

std::vector<int> devices_of(const DevicePlan& plan) {
  std::vector<int> devices;
  for (const machine::RankBinding& binding : plan.bindings) devices.push_back(binding.device);
  return devices;
}

TEST(DevicePlan, GivesEveryRankItsGpuAndSaysWhatEachNodeUses) {
  const DevicePlan plan = plan_devices(DeviceChoice::kAuto, "", false,
                                       {with_gpus(0, 2), with_gpus(0, 2), with_gpus(1, 2), with_gpus(1, 2)});
  EXPECT_EQ(plan.problem, "");
  EXPECT_TRUE(plan.on_gpus);
  EXPECT_THAT(devices_of(plan), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(plan.lines, ElementsAre("node01, node02: 2 x NVIDIA H100, a rank on each"));
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(DevicePlan, SaysOnceWhyTheCpuTrains) {
  const DevicePlan plan =
      plan_devices(DeviceChoice::kAuto, "", false,
                   {without_gpu(0, "no driver"), without_gpu(0, "no driver"), without_gpu(1, "no driver")});
  EXPECT_EQ(plan.problem, "");
  EXPECT_FALSE(plan.on_gpus);
  EXPECT_THAT(devices_of(plan), ElementsAre(-1, -1, -1));
  EXPECT_THAT(plan.lines, ElementsAre("training on the CPU: no driver"));
}

TEST(DevicePlan, NamesTheNodesWhereReasonsDiffer) {
  const DevicePlan plan =
      plan_devices(DeviceChoice::kAuto, "", false,
                   {without_gpu(0, "no driver"), without_gpu(1, "hidden"), without_gpu(2, "no driver")});
  EXPECT_THAT(plan.lines, ElementsAre("training on the CPU: node01, node03: no driver",
                                      "training on the CPU: node02: hidden"));
}

TEST(DevicePlan, KeepsARunOnTheCpuThatItBeganOnAndWarnsOfIdleGpus) {
  const DevicePlan plan =
      plan_devices(DeviceChoice::kAuto, "cpu", false, {with_gpus(0, 1), without_gpu(1, "no driver")});
  EXPECT_EQ(plan.problem, "") << "a mixture is no matter where GPUs are not used";
  EXPECT_FALSE(plan.on_gpus);
  EXPECT_THAT(devices_of(plan), ElementsAre(-1, -1));
  EXPECT_THAT(plan.lines, ElementsAre("training on the CPU: node01: the run began there",
                                      "training on the CPU: node02: no driver"));
  EXPECT_THAT(plan.warnings,
              ElementsAre(HasSubstr("the GPUs of node01 stay idle: the run began on the CPU")));
  EXPECT_THAT(plan_devices(DeviceChoice::kAuto, "cpu", false, {without_gpu(0, "no driver")}).warnings,
              IsEmpty());
}

TEST(DevicePlan, RefusesARunThatBeganOnGpusWhereARankHasNoneAndSaysHowToGoOn) {
  EXPECT_EQ(
      plan_devices(DeviceChoice::kAuto, "gpu", false, {with_gpus(0, 1), without_gpu(1, "no driver")}).problem,
      "the run began on GPUs and goes on there alone, and not every rank has one: node02: no driver; start "
      "ranks where there are GPUs, or begin a run in another folder");
  EXPECT_THAT(plan_devices(DeviceChoice::kCuda, "gpu", false, {without_gpu(0, "no driver")}).problem,
              HasSubstr("`training.device` is cuda"));
  EXPECT_TRUE(plan_devices(DeviceChoice::kAuto, "gpu", false, {with_gpus(0, 1)}).on_gpus);
}

TEST(DevicePlan, RefusesCudaWhereARankHasNoGpu) {
  const DevicePlan plan =
      plan_devices(DeviceChoice::kCuda, "", false,
                   {with_gpus(0, 1), without_gpu(1, "no driver"), without_gpu(1, "no driver")});
  EXPECT_EQ(plan.problem, "`training.device` is cuda, and not every rank has a GPU: node02: no driver");
  EXPECT_THAT(plan.bindings, IsEmpty());
}

TEST(DevicePlan, RefusesSeveralRanksOnAGpuForOneProcess) {
  RankView rank = with_gpus(0, 2);
  for (machine::DeviceView& device : rank.devices) device.exclusive = true;
  EXPECT_EQ(plan_devices(DeviceChoice::kAuto, "", false, {rank, rank}).problem, "");
  const DevicePlan plan = plan_devices(DeviceChoice::kAuto, "", false, {rank, rank, rank});
  EXPECT_THAT(plan.problem,
              HasSubstr("node01: GPU 0000:10:00.0 (NVIDIA H100) is in compute mode Exclusive_Process"));
}

TEST(DevicePlan, RefusesRanksThatTrainTogetherOnOneGpu) {
  EXPECT_EQ(plan_devices(DeviceChoice::kAuto, "", true, {with_gpus(0, 2), with_gpus(0, 2)}).problem, "");
  const std::vector<RankView> crowd(3, with_gpus(0, 2));
  EXPECT_EQ(plan_devices(DeviceChoice::kAuto, "", false, crowd).problem, "");
  EXPECT_EQ(plan_devices(DeviceChoice::kAuto, "", true, crowd).problem,
            "node01: GPU 0000:10:00.0 (NVIDIA H100) would have several ranks, and the members of a group "
            "(`training.group`) need one each: start one rank a GPU");
}

TEST(DevicePlan, RefusesMembersOnTwoInstancesOfOneGpu) {
  RankView first = with_gpus(0, 1);
  RankView second = first;
  first.devices.front().identity += " MIG-a";
  second.devices.front().identity += " MIG-b";
  EXPECT_EQ(plan_devices(DeviceChoice::kAuto, "", false, {first, second}).problem, "");
  EXPECT_THAT(plan_devices(DeviceChoice::kAuto, "", true, {first, second}).problem,
              HasSubstr("would have several ranks, and the members of a group"));
}

TEST(DevicePlan, RefusesAJobThatWouldTrainOnBothKinds) {
  const DevicePlan plan =
      plan_devices(DeviceChoice::kAuto, "", false, {with_gpus(0, 1), without_gpu(1, "no driver")});
  EXPECT_EQ(
      plan.problem,
      "`training.device` is auto, and some ranks alone have a GPU, so that results would depend on where a "
      "trial runs: choose cpu, or start ranks where there are GPUs; with: node01; without: node02: no "
      "driver");
}

TEST(DevicePlan, NamesRanksWhereThoseOfANodeDiffer) {
  const DevicePlan plan =
      plan_devices(DeviceChoice::kAuto, "", false, {with_gpus(0, 1), without_gpu(0, "hidden")});
  EXPECT_THAT(plan.problem, HasSubstr("with: rank 0 of node01; without: rank 1 of node01: hidden"));
}

TEST(DevicePlan, AsksNoGpuOfARankThatDoesNotTrain) {
  RankView coordinator = without_gpu(0, "");
  coordinator.trains = false;
  const DevicePlan plan = plan_devices(DeviceChoice::kCuda, "", false, {coordinator, with_gpus(0, 1)});
  EXPECT_EQ(plan.problem, "");
  EXPECT_THAT(devices_of(plan), ElementsAre(-1, 0));
  EXPECT_THAT(plan.lines, ElementsAre("node01: 1 x NVIDIA H100, its rank 1 on GPU 0"));
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(DevicePlan, WarnsOfEachNodeThatSharesOrWastesGpus) {
  const DevicePlan plan =
      plan_devices(DeviceChoice::kAuto, "", false, {with_gpus(0, 1), with_gpus(0, 1), with_gpus(1, 2)});
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("node01: 2 ranks share 1 GPU, 2 on each"),
                                         HasSubstr("node02: 1 of 2 GPUs is used by no rank")));
}

TEST(DevicePlan, WarnsOfGpusOfSeveralKinds) {
  const DevicePlan plan =
      plan_devices(DeviceChoice::kAuto, "", false, {with_gpus(0, 1), with_gpus(1, 1, "NVIDIA A100")});
  EXPECT_THAT(
      plan.warnings,
      ElementsAre("GPUs of several kinds: results may depend on where a trial runs (node01: NVIDIA H100; "
                  "node02: NVIDIA A100)"));
}

TEST(DevicePlan, TellsOfInfiniBandOnCpuNodesToo) {
  RankView rank = without_gpu(0, "no driver");
  rank.ports = {{.device = "mlx5_0", .link_layer = "InfiniBand", .state = "down"}};
  const DevicePlan plan = plan_devices(DeviceChoice::kAuto, "", false, {rank});
  EXPECT_THAT(plan.lines, ElementsAre("training on the CPU: no driver"));
  EXPECT_THAT(plan.fabric, ElementsAre("node01: InfiniBand mlx5_0 down"));
}

}  // namespace
}  // namespace skyline::train
