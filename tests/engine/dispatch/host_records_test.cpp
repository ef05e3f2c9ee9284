#include "engine/dispatch/host_records.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using Tries = std::vector<store::FailedTry>;

class HostRecordsTest : public ::testing::Test {
 protected:
  /// Trials of their own numbers fail on a host, one after the other.
  void fail(const std::string& host, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) records_.failed({next_++}, host, {});
  }
  static Tries failed_on(const std::string& host) {
    return {{.rank = 0, .host = host, .reason = "exit code 1"}};
  }

  HostRecords records_;
  trial::TrialNumber next_ = 100;
};

TEST_F(HostRecordsTest, DoubtAHostThatHasHadNoGoodResult) {
  EXPECT_FALSE(records_.in_doubt("a")) << "nothing has failed there";
  records_.failed({0}, "a", {});
  EXPECT_TRUE(records_.in_doubt("a"));
  EXPECT_FALSE(records_.in_doubt("b"));
  records_.succeeded({1}, "a", {});
  EXPECT_FALSE(records_.in_doubt("a"));
}

TEST_F(HostRecordsTest, DoubtAHostWhoseLastThreeTrialsFailed) {
  records_.succeeded({0}, "a", {});
  fail("a", 2);
  EXPECT_FALSE(records_.in_doubt("a"));
  fail("a", 1);
  EXPECT_TRUE(records_.in_doubt("a"));
}

TEST_F(HostRecordsTest, CallAHostBadThatHasFailedFiveTrialsOfWhichAnotherHasTrainedOne) {
  fail("a", 5);
  records_.succeeded({0}, "b", {});
  EXPECT_EQ(records_.failures_of_bad("a"), 0U) << "these trials may fail everywhere";
  records_.succeeded({102}, "b", failed_on("a"));
  EXPECT_EQ(records_.failures_of_bad("a"), 5U);
  EXPECT_EQ(records_.failures_of_bad("b"), 0U);
  fail("a", 1);
  EXPECT_EQ(records_.failures_of_bad("a"), 6U);
  records_.succeeded({1}, "a", {});
  EXPECT_EQ(records_.failures_of_bad("a"), 0U);
}

TEST_F(HostRecordsTest, CallNoHostBadThatHasFailedFourTrials) {
  fail("a", 4);
  records_.succeeded({102}, "b", failed_on("a"));
  EXPECT_EQ(records_.failures_of_bad("a"), 0U);
}

TEST_F(HostRecordsTest, HoldATrialThatFailsOnTwoHostsAgainstNeither) {
  fail("a", 4);
  records_.succeeded({102}, "b", failed_on("a"));
  records_.failed({0}, "a", {});
  records_.failed({0}, "b", {"a"});
  EXPECT_EQ(records_.failures_of_bad("a"), 0U) << "four are left";
  records_.failed({1}, "c", {});
  records_.failed({1}, "d", {"c"});
  EXPECT_FALSE(records_.in_doubt("c"));
  EXPECT_FALSE(records_.in_doubt("d"));
}

TEST_F(HostRecordsTest, SettleNothingByATryThatNoProgramFailed) {
  records_.failed({0}, "a", {});  // a failure by a signal
  records_.failed({0}, "b", {});
  EXPECT_TRUE(records_.in_doubt("a"));
  EXPECT_TRUE(records_.in_doubt("b")) << "its program failed there first";
  records_.failed({0}, "a", {"b"});
  EXPECT_FALSE(records_.in_doubt("a"));
  EXPECT_FALSE(records_.in_doubt("b"));
}

TEST_F(HostRecordsTest, CountATrialThatFailsTwiceOnAHostOnce) {
  fail("a", 4);
  records_.succeeded({102}, "b", failed_on("a"));
  records_.failed({103}, "a", {"a"});
  EXPECT_EQ(records_.failures_of_bad("a"), 0U);
}

}  // namespace
}  // namespace skyline::engine
