#include "run/account.hpp"

#include <gtest/gtest.h>

namespace skyline::run {
namespace {

TEST(SlotUsage, SumsUpBySlotAndCallsTheRestIdle) {
  SlotUsage book({{.rank = 0, .slot = 0, .host = "left"},
                  {.rank = 1, .slot = 0, .host = "right"},
                  {.rank = 1, .slot = 1, .host = "right"}});
  book.add({.rank = 1, .slot = 1, .setup_s = 1, .train_s = 2, .validate_s = 3, .latency_s = 0.5}, true);
  book.add({.rank = 1, .slot = 1, .train_s = 1}, false);
  book.add({.rank = 0, .slot = 0, .setup_s = 1, .train_s = 2}, false);
  const RunAccount account = book.after(10);
  EXPECT_EQ(account.slots[0].trials, 0U) << "another rank led the trial";
  EXPECT_EQ(account.slots[0].wait_work_s, 7);
  EXPECT_EQ(account.slots[2].host, "right");
  EXPECT_EQ(account.slots[2].rank, 1);
  EXPECT_EQ(account.slots[2].slot, 1);
  EXPECT_EQ(account.slots[2].trials, 1U);
  EXPECT_EQ(account.slots[2].train_s, 3);
  EXPECT_EQ(account.slots[2].wait_work_s, 2.5);
  EXPECT_DOUBLE_EQ(account.utilization(), 8.5 / 30);
}

TEST(SlotUsage, TellsWhatASlotWaitedFor) {
  SlotUsage book(std::vector<SlotAccount>(1));
  book.add({.train_s = 1, .wait_files_s = 2, .wait_ranks_s = 0.5, .wait_device_s = 0.25, .wait_hand_in_s = 1},
           true);
  const SlotAccount slot = book.after(10).slots.at(0);
  EXPECT_EQ(slot.wait_files_s, 3);
  EXPECT_EQ(slot.wait_ranks_s, 0.5);
  EXPECT_EQ(slot.wait_device_s, 0.25);
  EXPECT_EQ(slot.wait_work_s, 5.25);
  EXPECT_EQ(slot.wall_s(), 10);
  EXPECT_DOUBLE_EQ(book.after(10).utilization(), 0.1);
}

TEST(SlotUsage, ListsNoSlotsOfAJobThatTrainedNothing) {
  SlotUsage book(std::vector<SlotAccount>(2));
  EXPECT_TRUE(book.after(3).slots.empty());
  book.add({.rank = 0, .slot = 0, .setup_s = 1}, false);
  EXPECT_FALSE(book.after(3).slots.empty());
}

TEST(RunAccount, HasNoUtilizationWithoutSlots) {
  EXPECT_EQ(RunAccount{}.utilization(), 0);
}

}  // namespace
}  // namespace skyline::run
