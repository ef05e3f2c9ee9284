#include "app/doctor/doctor_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kGigabyte = 1'000'000'000;

machine::NodeLimits free_memory(std::uint64_t bytes) {
  machine::NodeLimits limits;
  limits.memory_free_bytes = bytes;
  return limits;
}

TEST(DoctorMemory, SaysTheSameOnNodesThatDifferALittle) {
  const Finding left = judge_memory(8, free_memory(243 * kGigabyte));
  EXPECT_EQ(left.verdict, Verdict::kGood);
  EXPECT_EQ(left.text, "more than 200 GB free for 8 ranks");
  EXPECT_EQ(judge_memory(8, free_memory(251 * kGigabyte)).text, left.text);
}

TEST(DoctorMemory, WarnsOfLessThanAGigabyteForARank) {
  EXPECT_EQ(judge_memory(16, free_memory(15 * kGigabyte)).verdict, Verdict::kWarning);
  EXPECT_EQ(judge_memory(15, free_memory(15 * kGigabyte)).verdict, Verdict::kGood);
  EXPECT_EQ(judge_memory(1, machine::NodeLimits{}).verdict, Verdict::kNote);
}

TEST(DoctorMemory, TakesTheControlGroupsLimitWhereItIsTighter) {
  machine::NodeLimits limits = free_memory(500 * kGigabyte);
  limits.memory_bytes = 4 * kGigabyte;
  const Finding finding = judge_memory(8, limits);
  EXPECT_EQ(finding.verdict, Verdict::kWarning);
  EXPECT_EQ(finding.text, "the control group grants 4 GB to 8 ranks");
  EXPECT_THAT(finding.advice, HasSubstr("sbatch --mem"));
}

TEST(DoctorMemory, WarnsOfAContainersSharedMemoryForSeveralRanks) {
  machine::NodeLimits limits;
  limits.shared_memory_bytes = 64 << 20;
  ASSERT_TRUE(judge_shared_memory(8, limits));
  EXPECT_EQ(judge_shared_memory(8, limits)->text, "/dev/shm has 67 MB for 8 ranks");
  EXPECT_THAT(judge_shared_memory(8, limits)->advice, HasSubstr("--shm-size"));
  EXPECT_FALSE(judge_shared_memory(1, limits));
  limits.shared_memory_bytes = kGigabyte;
  EXPECT_FALSE(judge_shared_memory(8, limits));
  EXPECT_TRUE(judge_shared_memory(128, limits));
  limits.shared_memory_bytes.reset();
  EXPECT_EQ(judge_shared_memory(2, limits)->text, "there is no /dev/shm");
}

TEST(DoctorMemory, WarnsOfLittleRoomForTheFilesOfTheLauncher) {
  EXPECT_FALSE(judge_temporary_folder("/tmp", kGigabyte));
  ASSERT_TRUE(judge_temporary_folder("/scratch", 8'000'000));
  EXPECT_EQ(judge_temporary_folder("/scratch", 8'000'000)->text, "/scratch: 8 MB are free");
  EXPECT_THAT(judge_temporary_folder("/scratch", 8'000'000)->advice, HasSubstr("set TMPDIR"));
  EXPECT_EQ(judge_temporary_folder("/none", std::nullopt)->text, "/none: no folder that can be used");
}

TEST(DoctorMemory, AFolderForTemporaryFilesThatCannotBeWrittenIsAProblem) {
  const std::optional<Finding> finding =
      judge_temporary_folder("/scratch", kGigabyte, "Read-only file system");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::kProblem);
  EXPECT_EQ(finding->text, "/scratch: no file can be written there: Read-only file system");
  EXPECT_THAT(finding->advice, HasSubstr("set TMPDIR to another folder of the node"));
}

TEST(DoctorMemory, WarnsOfAControlGroupThatGrantsFewProcesses) {
  EXPECT_FALSE(judge_processes(8, std::nullopt));
  const std::optional<Finding> too_few = judge_processes(1, ProcessLimit{.most = 6, .used = 4});
  ASSERT_TRUE(too_few);
  EXPECT_EQ(too_few->verdict, Verdict::kProblem);
  EXPECT_EQ(too_few->text, "the control group grants 6 processes and threads (pids.max), and 4 are in use");
  EXPECT_THAT(too_few->advice, HasSubstr("--pids-limit"));
  const ProcessLimit some{.most = 400, .used = 100};
  EXPECT_FALSE(judge_processes(4, some));
  ASSERT_TRUE(judge_processes(8, some));
  EXPECT_EQ(judge_processes(8, some)->verdict, Verdict::kWarning);
}

TEST(DoctorMemory, WarnsOfTooFewOpenFilesForManyRanks) {
  machine::NodeLimits limits;
  limits.open_files = 1024;
  EXPECT_FALSE(judge_open_files(256, limits));
  ASSERT_TRUE(judge_open_files(512, limits));
  EXPECT_EQ(judge_open_files(512, limits)->text, "a process may have 1024, with 512 ranks it may need 1224");
  limits.open_files.reset();
  EXPECT_FALSE(judge_open_files(512, limits));
}

TEST(DoctorMemory, ADataSetThatIsLargerThanTheMemoryIsAWarning) {
  EXPECT_FALSE(judge_data_size("a.h5", 1'000'000'000, free_memory(2'000'000'000)));
  const auto warning = judge_data_size("a.h5", 3'000'000'000, free_memory(2'000'000'000));
  EXPECT_EQ(warning->verdict, Verdict::kWarning);
  EXPECT_EQ(warning->text, "a.h5 has 3 GB, and 2 GB of memory are free");
  EXPECT_FALSE(judge_data_size("a.h5", 3'000'000'000, machine::NodeLimits{})) << "free memory is not told";
}

}  // namespace
}  // namespace skyline::app
