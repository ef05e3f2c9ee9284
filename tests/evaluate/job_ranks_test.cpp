#include "evaluate/job_ranks.hpp"

#include "evaluate/command/metric_commands.hpp"
#include "support/mpi_test.hpp"
#include "support/scratch_folder.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::evaluate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JobRanksTest : public testing::MpiTest {
 protected:
  JobRanks ranks_{testing::environment()};
  testing::ScratchFolder folder_;
};

TEST_F(JobRanksTest, GiveEveryTextToAllByRank) {
  EXPECT_EQ(ranks_.rank(), rank());
  EXPECT_EQ(ranks_.size(), size());
  const std::vector<std::string> all = ranks_.exchange(std::string(static_cast<std::size_t>(rank()), 'x'));
  ASSERT_EQ(std::ssize(all), size());
  for (std::size_t other = 0; other < all.size(); ++other) EXPECT_EQ(all[other], std::string(other, 'x'));
}

TEST_F(JobRanksTest, GiveRecordsOfValues) {
  const std::vector<int> all = exchange(ranks_, 10 * rank());
  ASSERT_EQ(std::ssize(all), size());
  for (std::size_t other = 0; other < all.size(); ++other)
    EXPECT_EQ(all[other], 10 * static_cast<int>(other));
}

TEST_F(JobRanksTest, SeeEachOthersLocksOnOneHost) {
  const std::vector<std::string> folders = ranks_.exchange(folder_.path().string());
  EXPECT_NO_THROW(check_locks(ranks_, folders.front(), "here"));
}

TEST_F(JobRanksTest, HaveAPlaceWithTheDevicesThatTheProcessMayUse) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  trial::Place place = place_of(testing::environment());
  EXPECT_EQ(place.host, testing::environment().place().host);
  EXPECT_EQ(place.node_rank, rank());
  EXPECT_EQ(place.node, 0);
  EXPECT_EQ(place.processors, testing::environment().place().processors);
  EXPECT_THAT(place.devices, IsEmpty()) << "not known";
  EXPECT_EQ(place.memory_bytes, std::nullopt);
  setenv("CUDA_VISIBLE_DEVICES", "3,GPU-8932f937", 1);
  EXPECT_THAT(place_of(testing::environment()).devices, ElementsAre("3", "GPU-8932f937"));
  unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace skyline::evaluate
