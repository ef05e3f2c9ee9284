#include "train/loading/device_choice.hpp"

#include "skyline/core/error.hpp"

#include "comm/agreement.hpp"
#include "core/system/process.hpp"
#include "evaluate/job_ranks.hpp"
#include "support/fake_system.hpp"
#include "support/listed_devices.hpp"
#include "support/mpi_test.hpp"
#include "support/user_error_of.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::user_error_of;

AcceleratorLoader gpus(int count) {
  std::vector<AcceleratorDevice> devices;
  for (int i = 0; i < count; ++i) devices.push_back(testing::listed_device(i, i));
  return [devices](std::string&) { return std::make_shared<testing::ListedDevices>(devices); };
}

AcceleratorLoader no_gpu() {
  return [](std::string& reason) {
    reason = "no driver";
    return nullptr;
  };
}

class DeviceChoiceTest : public testing::MpiTest {
 protected:
  DeviceUse choose(const AcceleratorLoader& load) {
    evaluate::JobRanks ranks(testing::environment());
    return choose_device(ranks, evaluate::place_of(testing::environment()), wish_, load, system_.root());
  }
  std::string problem_of(const AcceleratorLoader& load) {
    return user_error_of([&] { choose(load); });
  }

  machine::testing::FakeSystem system_;
  DeviceWish wish_;
};

TEST_F(DeviceChoiceTest, GivesEveryRankADeviceOfItsOwn) {
  const DeviceUse use = choose(gpus(size()));
  EXPECT_TRUE(use.on_gpus);
  EXPECT_NE(use.accelerator, nullptr);
  EXPECT_EQ(use.device, rank());
}

TEST_F(DeviceChoiceTest, RefusesAGpuThatCannotBeUsedUnlessTheCpuIsChosen) {
  const AcceleratorLoader old_driver = [](std::string&) -> std::shared_ptr<Accelerator> {
    if (testing::environment().world().rank() == 0) throw UserError("the NVIDIA driver 550 is too old");
    return nullptr;
  };
  EXPECT_EQ(problem_of(old_driver),
            "`training.device` is auto, and a GPU is there that cannot be used (the NVIDIA driver 550 is too "
            "old): mend that, or choose cpu");
  wish_.begun = "cpu";
  EXPECT_FALSE(choose(old_driver).on_gpus);
  wish_ = {.choice = DeviceChoice::kCpu};
  EXPECT_FALSE(choose(old_driver).on_gpus);
}

TEST_F(DeviceChoiceTest, TrainsOnTheCpuWhereNoRankHasADevice) {
  const DeviceUse use = choose(no_gpu());
  EXPECT_FALSE(use.on_gpus);
  EXPECT_EQ(use.accelerator, nullptr);
  wish_.choice = DeviceChoice::kCuda;
  EXPECT_THAT(problem_of(no_gpu()), HasSubstr("`training.device` is cuda, and not every rank has a GPU: "));
}

TEST_F(DeviceChoiceTest, GoesOnWithTheKindOfDeviceThatTheRunBeganOn) {
  wish_.begun = "cpu";
  DeviceUse use = choose(gpus(size()));
  EXPECT_FALSE(use.on_gpus);
  EXPECT_EQ(use.accelerator, nullptr);
  wish_.begun = rank() == 0 ? "gpu" : "";  // rank 0's counts
  EXPECT_TRUE(choose(gpus(size())).on_gpus);
  EXPECT_THAT(problem_of(no_gpu()), HasSubstr("the run began on GPUs and goes on there alone"));
}

TEST_F(DeviceChoiceTest, NeverLooksForADeviceThatIsNotWanted) {
  wish_.choice = DeviceChoice::kCpu;
  bool looked = false;
  const DeviceUse use = choose([&](std::string&) {
    looked = true;
    return nullptr;
  });
  EXPECT_FALSE(looked);
  EXPECT_EQ(use.accelerator, nullptr);
}

TEST_F(DeviceChoiceTest, TellsAllRanksTheProblemOfOne) {
  if (size() == 1) return;
  EXPECT_THAT(problem_of(rank() == 0 ? no_gpu() : gpus(1)), HasSubstr("without: rank 0 of"));
}

TEST_F(DeviceChoiceTest, LeavesARankThatDoesNotTrainWithoutADevice) {
  if (size() == 1) return;  // somebody must train
  wish_.trains = rank() != 0;
  const DeviceUse use = choose(gpus(size() - 1));
  EXPECT_TRUE(use.on_gpus) << "of the run, also where a rank trains on nothing";
  EXPECT_EQ(use.accelerator == nullptr, rank() == 0);
  EXPECT_EQ(use.device, rank() == 0 ? 0 : rank() - 1);
}

TEST_F(DeviceChoiceTest, NarrowsTheProcessorsToThoseNearTheDevice) {
  const std::vector<int> allowed = allowed_processors();
  std::string near;  // the first of every rank's mask
  for (const std::string& first : comm::gather(world(), std::to_string(allowed.front()))) {
    if (near.find(first) == std::string::npos) near += (near.empty() ? "" : ",") + first;
  }
  near = comm::share(world(), near);
  for (int i = 0; i < size(); ++i) {
    system_.add(machine::testing::FakePciDevice{
        .path = "pci0000:00/0000:1" + std::to_string(i) + ":00.0", .numa_node = 0, .processors = near});
  }
  EXPECT_THAT(choose(gpus(size())).processors, ElementsAre(allowed.front()));
  EXPECT_THAT(allowed_processors(), ElementsAre(allowed.front()));
  EXPECT_TRUE(bind_this_thread(allowed));
}

TEST_F(DeviceChoiceTest, TellsNcclOfTheFabricForGroupsOfRanksAlone) {
  unsetenv("NCCL_IB_HCA");
  setenv("HOME", system_.root().c_str(), 1);
  system_.add(machine::testing::FakePort{.device = "mlx5_7", .verbs = "uverbs7"});
  choose(gpus(size()));
  EXPECT_EQ(std::getenv("NCCL_IB_HCA"), nullptr);
  wish_.members = static_cast<std::uint32_t>(size());
  choose(gpus(size()));
  EXPECT_STREQ(std::getenv("NCCL_IB_HCA"), size() == 1 ? nullptr : "=mlx5_7:1");
}

TEST_F(DeviceChoiceTest, LetsMembersOfAGroupShareGpus) {
  wish_.members = static_cast<std::uint32_t>(size()) + 1;
  EXPECT_TRUE(choose(gpus(size())).on_gpus);
  EXPECT_FALSE(choose(no_gpu()).on_gpus);
}

TEST_F(DeviceChoiceTest, SharesAnExclusiveGpuByMps) {
  std::vector<AcceleratorDevice> devices{testing::listed_device(0, 0)};
  devices.front().exclusive = true;
  const AcceleratorLoader one = [&](std::string&) {
    return std::make_shared<testing::ListedDevices>(devices);
  };
  if (size() > 1) {
    EXPECT_THAT(problem_of(one), HasSubstr("is in compute mode Exclusive_Process"));
  }
  system_.write("tmp/nvidia-mps/control", "");
  EXPECT_TRUE(choose(one).on_gpus);
}

TEST_F(DeviceChoiceTest, LeavesEveryRankOneMigInstanceOfAList) {
  setenv("CUDA_VISIBLE_DEVICES", "MIG-a,MIG-b,MIG-c", 1);
  choose(gpus(1));
  EXPECT_STREQ(std::getenv("CUDA_VISIBLE_DEVICES"),
               ("MIG-" + std::string(1, static_cast<char>('a' + rank()))).c_str());
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(DescribeDevice, SaysWhatThisMachineWouldUse) {
  machine::testing::FakeSystem system;
  DeviceWish wish;
  EXPECT_THAT(describe_device(wish, gpus(2), system.root()),
              ElementsAre("training on the GPUs of this machine: 2 x NVIDIA Test"));
  system.add(machine::testing::FakePort{.device = "mlx5_0", .state = "1: DOWN"});
  EXPECT_THAT(describe_device(wish, gpus(1), system.root()),
              ElementsAre("training on the GPUs of this machine: 1 x NVIDIA Test",
                          "InfiniBand mlx5_0 down; firmware 28.39.2048"));
  EXPECT_EQ(describe_device(wish, no_gpu(), system.root()).front(), "training on the CPU: no driver");
  wish.choice = DeviceChoice::kCuda;
  EXPECT_THAT(
      describe_device(wish, no_gpu(), system.root()),
      ElementsAre("`training.device` is cuda, and not every rank has a GPU: this machine: no driver"));
  wish.choice = DeviceChoice::kCpu;
  EXPECT_THAT(describe_device(wish, gpus(1), system.root()),
              ElementsAre("training on the CPU, as the configuration says"));
}

}  // namespace
}  // namespace skyline::train
