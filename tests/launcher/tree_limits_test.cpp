#include "launcher/program_limits.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline::launcher {
namespace {

std::vector<ListedProcess> tree_of(std::size_t processes, std::uint64_t bytes_each = 0) {
  return std::vector<ListedProcess>(processes,
                                    ListedProcess{.resident_bytes = bytes_each});  // no such process
}

TEST(TreeLimitsTest, AtTheLimitNothingIsTooMuch) {
  TreeLimits limits(100, 5);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limits.check(tree_of(5, 20)));
}

TEST(TreeLimitsTest, AboveTheLimitTheSecondLookIsTooMuch) {
  TreeLimits limits(100, 0);
  EXPECT_FALSE(limits.check(tree_of(2, 60)));
  const auto notice = limits.check(tree_of(2, 61));
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->news, News::kOutOfMemory);
  EXPECT_EQ(notice->amount, 122U);
}

TEST(TreeLimitsTest, AMomentAboveTheLimitIsForgiven) {
  TreeLimits limits(0, 5);
  EXPECT_FALSE(limits.check(tree_of(6)));
  EXPECT_FALSE(limits.check(tree_of(5)));
  EXPECT_FALSE(limits.check(tree_of(6)));
}

TEST(TreeLimitsTest, TwiceTheLimitIsTooMuchAtOnce) {
  TreeLimits limits(0, 5);
  const auto notice = limits.check(tree_of(10));
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->news, News::kManyProcesses);
  EXPECT_EQ(notice->amount, 10U);
}

TEST(TreeLimitsTest, ThreadsCountLikeProcesses) {
  TreeLimits limits(0, 5);
  const auto notice = limits.check({{.threads = 7}, {.threads = 3}});
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->amount, 10U);
}

TEST(TreeLimitsTest, SharedMemoryCountsOnce) {
  const std::vector<ListedProcess> own{{.id = ::getpid(), .resident_bytes = std::uint64_t{1} << 60}};
  TreeLimits limits(std::uint64_t{1} << 50, 0);
  EXPECT_FALSE(limits.check(own));
  EXPECT_FALSE(limits.check(own));
}

TEST(TreeLimitsTest, WithoutALimitThereIsNothingToLookAt) {
  EXPECT_FALSE(TreeLimits(0, 0).exist());
  EXPECT_TRUE(TreeLimits(1, 0).exist());
  EXPECT_FALSE(TreeLimits(1, 0).should_check());
}

}  // namespace
}  // namespace skyline::launcher
