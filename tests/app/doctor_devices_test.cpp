#include "skyline/core/error.hpp"

#include "app/doctor/doctor_checks.hpp"
#include "support/fake_system.hpp"
#include "support/mpi_test.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using evaluate::DeviceChoice;
using ::testing::HasSubstr;

std::shared_ptr<train::Accelerator> no_gpu(std::string& reason) {
  reason = "no driver";
  return nullptr;
}

class DoctorDevicesTest : public testing::MpiTest {
 protected:
  std::vector<Finding> check(DeviceChoice device, const train::AcceleratorLoader& load = no_gpu) {
    std::vector<Finding> findings;
    check_devices(testing::environment(), {.device = device}, load, system_.root(), findings);
    return findings;
  }

  machine::testing::FakeSystem system_;
};

TEST_F(DoctorDevicesTest, SayWhatTheSearchWouldChoose) {
  const auto only_finding = [&](DeviceChoice device) {
    const std::vector<Finding> findings = check(device);
    return findings.size() == 1 ? findings.front() : Finding{Verdict::kGood, "", "not one finding", ""};
  };
  EXPECT_EQ(only_finding(DeviceChoice::kAuto).text, "training on the CPU: no driver");
  EXPECT_EQ(only_finding(DeviceChoice::kAuto).verdict, Verdict::kNote);
  EXPECT_THAT(only_finding(DeviceChoice::kCuda).text, HasSubstr("not every rank has a GPU"));
  EXPECT_EQ(only_finding(DeviceChoice::kCuda).verdict, Verdict::kProblem);
  EXPECT_EQ(only_finding(DeviceChoice::kNone).verdict, Verdict::kNote);
  // Ranks that read other configurations wait for nobody: rank 0's counts.
  EXPECT_EQ(only_finding(rank() == 0 ? DeviceChoice::kCpu : DeviceChoice::kAuto).text,
            "not looked for: training.device is cpu");
}

TEST_F(DoctorDevicesTest, GoOnWhereTheCudaModuleThrows) {
  const train::AcceleratorLoader throwing = [](std::string&) -> std::shared_ptr<train::Accelerator> {
    throw InternalError("cudaGetDeviceCount: unknown error");
  };
  for (const DeviceChoice device : {DeviceChoice::kAuto, DeviceChoice::kNone}) {
    const std::vector<Finding> findings = check(device, rank() == 0 ? throwing : no_gpu);
    ASSERT_EQ(findings.size(), rank() == 0 ? 1U : 0U) << "a search would end, and not train on the CPU";
    if (rank() != 0) continue;
    EXPECT_EQ(findings.front().verdict, device == DeviceChoice::kNone ? Verdict::kNote : Verdict::kProblem);
    EXPECT_EQ(findings.front().text, "the cuda module fails: cudaGetDeviceCount: unknown error");
  }
}

TEST_F(DoctorDevicesTest, SayOfAGpuThatCannotBeUsedThatItIsAProblemIfItIsNeeded) {
  const train::AcceleratorLoader refusing = [](std::string&) -> std::shared_ptr<train::Accelerator> {
    throw UserError("the NVIDIA driver supports CUDA 12.4, needed is 13.0");
  };
  const std::vector<Finding> findings = check(DeviceChoice::kAuto, rank() == 0 ? refusing : no_gpu);
  ASSERT_EQ(findings.size(), rank() == 0 ? 1U : 0U) << "`auto` would not train on the CPU";
  if (rank() == 0) {
    EXPECT_EQ(findings.front().verdict, Verdict::kProblem);
    EXPECT_EQ(findings.front().text, "the NVIDIA driver supports CUDA 12.4, needed is 13.0");
  }
  EXPECT_THAT(check(DeviceChoice::kCuda, refusing).back().text, HasSubstr("not every rank has a GPU"));
  const std::vector<Finding> not_needed = check(DeviceChoice::kNone, refusing);
  ASSERT_EQ(not_needed.size(), 1U);
  EXPECT_EQ(not_needed.front().verdict, Verdict::kNote);
  EXPECT_EQ(not_needed.front().advice, "");
}

}  // namespace
}  // namespace skyline::app
