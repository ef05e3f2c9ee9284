#include "app/job/device_choice.hpp"

#include "skyline/core/error.hpp"

#include "app/doctor/doctor_devices.hpp"
#include "core/processors.hpp"
#include "machine/fake_system.hpp"
#include "support/listed_devices.hpp"
#include "support/mpi_test.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AcceleratorLoader gpus(int count) {
  std::vector<train::AcceleratorDevice> devices;
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
  ChosenDevice choose(const AcceleratorLoader& load, bool trains = true) {
    return choose_device(testing::environment(), options_, begun_, trains, load, system_.root());
  }

  machine::testing::FakeSystem system_;
  train::TrainingOptions options_;
  std::string begun_;
};

TEST_F(DeviceChoiceTest, GivesEveryRankADeviceOfItsOwn) {
  const ChosenDevice chosen = choose(gpus(size()));
  EXPECT_EQ(device_kind(chosen), "gpu");
  EXPECT_EQ(chosen.problem, "");
  EXPECT_NE(chosen.use.accelerator, nullptr);
  EXPECT_EQ(chosen.use.device, rank());
}

TEST_F(DeviceChoiceTest, TrainsOnTheCpuWhereNoRankHasADevice) {
  const ChosenDevice chosen = choose(no_gpu());
  EXPECT_EQ(chosen.problem, "");
  EXPECT_EQ(device_kind(chosen), "cpu");
  EXPECT_EQ(chosen.use.accelerator, nullptr);
  options_.device = train::DeviceChoice::kCuda;
  EXPECT_THAT(choose(no_gpu()).problem,
              HasSubstr("`training.device` is cuda, and not every rank has a GPU: "));
}

TEST_F(DeviceChoiceTest, GoesOnWithTheKindOfDeviceThatTheRunBeganOn) {
  begun_ = "cpu";
  ChosenDevice chosen = choose(gpus(size()));
  EXPECT_EQ(chosen.problem, "");
  EXPECT_EQ(device_kind(chosen), "cpu");
  EXPECT_EQ(chosen.use.accelerator, nullptr);
  begun_ = rank() == 0 ? "gpu" : "";  // rank 0's counts
  EXPECT_EQ(device_kind(choose(gpus(size()))), "gpu");
  EXPECT_THAT(choose(no_gpu()).problem, HasSubstr("the run began on GPUs and goes on there alone"));
}

TEST_F(DeviceChoiceTest, NeverLooksForADeviceThatIsNotWanted) {
  options_.device = train::DeviceChoice::kCpu;
  bool looked = false;
  const ChosenDevice chosen = choose([&](std::string&) {
    looked = true;
    return nullptr;
  });
  EXPECT_FALSE(looked);
  EXPECT_EQ(chosen.use.accelerator, nullptr);
}

TEST_F(DeviceChoiceTest, TellsAllRanksTheProblemOfOne) {
  const ChosenDevice chosen = choose(rank() == 0 ? no_gpu() : gpus(1));
  if (size() == 1) {
    EXPECT_EQ(chosen.problem, "");
  } else {
    EXPECT_THAT(chosen.problem, HasSubstr("without: rank 0 of"));
    EXPECT_EQ(chosen.use.accelerator, nullptr);
  }
}

TEST_F(DeviceChoiceTest, LeavesARankThatDoesNotTrainWithoutADevice) {
  if (size() == 1) return;  // somebody must train
  const ChosenDevice chosen = choose(gpus(size() - 1), rank() != 0);
  EXPECT_EQ(chosen.problem, "");
  EXPECT_EQ(device_kind(chosen), "gpu") << "of the run, also where a rank trains on nothing";
  EXPECT_EQ(chosen.use.accelerator == nullptr, rank() == 0);
  EXPECT_EQ(chosen.use.device, rank() == 0 ? 0 : rank() - 1);
}

TEST_F(DeviceChoiceTest, LetsTheDoctorSayWhatWouldBeChosen) {
  const auto findings_for = [&](bool needed) {
    std::vector<Finding> findings;
    check_devices(testing::environment(), options_, needed, no_gpu(), system_.root(), findings);
    return findings.size() == 1 ? findings.front() : Finding{Verdict::kGood, "", "not one finding", ""};
  };
  EXPECT_EQ(findings_for(true).text, "training on the CPU: no driver");
  EXPECT_EQ(findings_for(true).verdict, Verdict::kNote);
  options_.device = train::DeviceChoice::kCuda;
  EXPECT_THAT(findings_for(true).text, HasSubstr("not every rank has a GPU"));
  EXPECT_EQ(findings_for(true).verdict, Verdict::kProblem);
  EXPECT_EQ(findings_for(false).verdict, Verdict::kNote);
  // Ranks that read other configurations wait for nobody: rank 0's counts.
  options_.device = rank() == 0 ? train::DeviceChoice::kCpu : train::DeviceChoice::kAuto;
  EXPECT_EQ(findings_for(true).text, "not looked for: training.device is cpu");
}

TEST_F(DeviceChoiceTest, LetsTheDoctorGoOnWhereTheCudaModuleThrows) {
  const AcceleratorLoader throwing = [](std::string&) -> std::shared_ptr<train::Accelerator> {
    throw InternalError("cudaGetDeviceCount: unknown error");
  };
  std::vector<Finding> findings;
  check_devices(testing::environment(), options_, true, rank() == 0 ? throwing : no_gpu(), system_.root(),
                findings);
  EXPECT_THAT(findings.back().text, HasSubstr("training on the CPU: ")) << "what the search would choose";
  if (rank() != 0) return;
  EXPECT_EQ(findings.front().verdict, Verdict::kProblem);
  EXPECT_EQ(findings.front().text, "the cuda module fails: cudaGetDeviceCount: unknown error");
}

TEST_F(DeviceChoiceTest, NarrowsTheProcessorsToThoseNearTheDevice) {
  const std::vector<int> allowed = allowed_processors();
  std::string near;  // the first of every rank's mask
  for (const std::string& first : comm::gather_texts(world(), std::to_string(allowed.front()), 0)) {
    if (near.find(first) == std::string::npos) near += (near.empty() ? "" : ",") + first;
  }
  near = comm::broadcast_text(world(), near, 0);
  for (int i = 0; i < size(); ++i) {
    system_.add(machine::testing::FakePciDevice{
        .path = "pci0000:00/0000:1" + std::to_string(i) + ":00.0", .numa_node = 0, .processors = near});
  }
  const comm::NodePlace before = testing::environment().place();
  choose(gpus(size()));
  EXPECT_THAT(testing::environment().place().processors, ElementsAre(allowed.front()));
  EXPECT_THAT(allowed_processors(), ElementsAre(allowed.front()));
  testing::environment().use_processors(before.processors);
  EXPECT_TRUE(bind_this_thread(before.allowed));
}

TEST_F(DeviceChoiceTest, TellsNcclOfTheFabricForGroupsOfRanksAlone) {
  unsetenv("NCCL_DEBUG");
  unsetenv("NCCL_DEBUG_FILE");
  unsetenv("NCCL_DEBUG_SUBSYS");
  unsetenv("NCCL_IB_HCA");
  setenv("HOME", system_.root().c_str(), 1);
  system_.add(machine::testing::FakePort{.device = "mlx5_7", .verbs = "uverbs7"});
  EXPECT_EQ(choose(gpus(size())).nccl_log, nullptr);
  EXPECT_EQ(std::getenv("NCCL_IB_HCA"), nullptr);
  options_.group.members = std::nullopt;
  ChosenDevice chosen = choose(gpus(size()));
  if (size() == 1) {
    EXPECT_EQ(chosen.nccl_log, nullptr);
    return;
  }
  EXPECT_STREQ(std::getenv("NCCL_IB_HCA"), "=mlx5_7:1");
  const std::string file = std::getenv("NCCL_DEBUG_FILE");
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::owner_all)
      << "others could put a link in the log's place";
  EXPECT_EQ(folder.filename().string().find(std::to_string(getpid())), std::string::npos)
      << "others could foresee the name";
  std::ofstream(file) << "NCCL INFO";
  chosen.nccl_log.reset();
  EXPECT_FALSE(std::filesystem::exists(folder)) << "the log is gone with the job";
}

TEST(DescribeDevice, SaysWhatThisMachineWouldUse) {
  machine::testing::FakeSystem system;
  train::TrainingOptions options;
  EXPECT_THAT(describe_device(options, gpus(2), system.root()),
              ElementsAre("training on the GPUs of this machine: 2 x NVIDIA Test"));
  system.add(machine::testing::FakePort{.device = "mlx5_0", .state = "1: DOWN"});
  EXPECT_THAT(describe_device(options, gpus(1), system.root()),
              ElementsAre("training on the GPUs of this machine: 1 x NVIDIA Test",
                          "InfiniBand mlx5_0 down; firmware 28.39.2048"));
  EXPECT_EQ(describe_device(options, no_gpu(), system.root()).front(), "training on the CPU: no driver");
  options.device = train::DeviceChoice::kCuda;
  EXPECT_THAT(
      describe_device(options, no_gpu(), system.root()),
      ElementsAre("`training.device` is cuda, and not every rank has a GPU: this machine: no driver"));
  options.device = train::DeviceChoice::kCpu;
  EXPECT_THAT(describe_device(options, gpus(1), system.root()),
              ElementsAre("training on the CPU, as the configuration says"));
}

}  // namespace
}  // namespace skyline::app
