#include "engine/slots/account.hpp"

#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

TEST(AccountBook, SumsUpBySlotAndCallsTheRestIdle) {
  AccountBook book(RankTable{2, {1, 2}, {"left", "right"}, {1, 2}});
  ASSERT_EQ(book.slots().size(), 3U);
  const trial::Measurements done;
  const trial::Failure stopped{trial::FailureKind::kStopped, "stopped on request"};
  book.add(
      {{0}, done, {.rank = 1, .slot = 1, .setup_s = 1, .train_s = 2, .validate_s = 3, .latency_s = 0.5}});
  book.add(
      {{1}, stopped, {.rank = 1, .slot = 1, .setup_s = 0, .train_s = 1, .validate_s = 0, .latency_s = 0}});
  Arrival helper{
      {0}, done, {.rank = 0, .slot = 0, .setup_s = 1, .train_s = 2, .validate_s = 0, .latency_s = 0}};
  helper.helper = true;
  book.add(helper);
  const RunAccount account = book.close(10);
  EXPECT_EQ(account.slots[0].trials, 0U);
  EXPECT_EQ(account.slots[0].idle_s, 7) << "another rank led the trial";
  EXPECT_EQ(account.slots[2].host, "right");
  EXPECT_EQ(account.slots[2].rank, 1);
  EXPECT_EQ(account.slots[2].slot, 1);
  EXPECT_EQ(account.slots[2].trials, 1U);
  EXPECT_EQ(account.slots[2].train_s, 3);
  EXPECT_EQ(account.slots[2].idle_s, 2.5);
  EXPECT_DOUBLE_EQ(account.utilization(), 8.5 / 30);
}

TEST(RunAccount, HasNoUtilizationWithoutSlots) {
  EXPECT_EQ(RunAccount{}.utilization(), 0);
}

}  // namespace
}  // namespace skyline::engine
