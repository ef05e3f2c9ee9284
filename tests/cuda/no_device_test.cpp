// The library's answers without a GPU: CTest offers none to this program, on any machine.
#include "skyline/core/error.hpp"

#include "cuda/cuda_accelerator.hpp"
#include "cuda/nccl/nccl_connection.hpp"
#include "cuda/streams/check_cuda.hpp"
#include "support/local_groups.hpp"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::cuda {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(NoDevice, IsAReasonNotAnError) {
  std::string reason;
  EXPECT_EQ(make_cuda_accelerator(reason), nullptr);
  EXPECT_THAT(reason, StartsWith("CUDA"));
  EXPECT_THAT(reason,
              AnyOf(HasSubstr("driver version is insufficient"), HasSubstr("no CUDA-capable device")));
}

TEST(NoDevice, EndsTheConnectionOfAGroupWithNcclsText) {
  const auto groups = testing::make_local_groups(1);
  try {
    IdleConnections().acquire(*groups[0], 0);
    FAIL() << "a communicator without a device";
  } catch (const FaultError& error) {
    EXPECT_THAT(error.what(), StartsWith("ncclCommInitRankConfig: "));
    EXPECT_THAT(error.what(), HasSubstr("Cuda failure"));
  }
}

TEST(CheckCuda, NamesTheCallAndCudasText) {
  check_cuda(cudaSuccess, "cudaEventQuery");
  try {
    check_cuda(cudaErrorIllegalAddress, "cudaEventQuery");
    FAIL() << "no exception";
  } catch (const FaultError& error) {
    EXPECT_STREQ(error.what(), "cudaEventQuery: an illegal memory access was encountered");
  }
}

TEST(CheckCuda, KeepsLibTorchsTypeForMemoryThatIsOut) {
  EXPECT_THROW(check_cuda(cudaErrorMemoryAllocation, "cudaGraphInstantiate"), c10::OutOfMemoryError);
}

/// Calls `course` once a member, each on a thread of its own.
void run_members(std::size_t members, const std::function<void(trial::TrialGroup&)>& course) {
  const auto groups = testing::make_local_groups(members);
  std::vector<std::thread> threads;
  for (const auto& group : groups) threads.emplace_back([&] { course(*group); });
  for (auto& thread : threads) thread.join();
}

TEST(DistinctDevices, AreMissedByAllMembersIfTwoShareOne) {
  run_members(3, [](trial::TrialGroup& group) {
    const std::string bus_id = group.member() == 1 ? "0000:1b:00.0" : "0000:3d:00.0";
    EXPECT_FALSE(have_distinct_devices(group, "machine", bus_id)) << "members 0 and 2 share a device";
  });
}

TEST(DistinctDevices, MayHaveTheSamePlaceInDifferentMachines) {
  run_members(4, [](trial::TrialGroup& group) {
    const std::string machine = group.member() < 2 ? "one" : "two";
    const std::string bus_id = group.member() % 2 == 0 ? "0000:1b:00.0" : "0000:3d:00.0";
    EXPECT_TRUE(have_distinct_devices(group, machine, bus_id));
  });
}

TEST(DistinctDevices, HaveAMachineWithAName) {
  EXPECT_FALSE(machine_name().empty());
}

}  // namespace
}  // namespace skyline::cuda
