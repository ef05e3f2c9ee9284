
#include "report/text/run_account.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

run::SlotAccount slot_account(int rank, int slot, const std::string& host, double train_s) {
  return {.rank = rank,
          .slot = slot,
          .host = host,
          .trials = 7,
          .setup_s = 0.5,
          .train_s = train_s,
          .validate_s = 2,
          .latency_s = 1,
          .wait_work_s = 100 - train_s - 3.5};
}

TEST(AccountTable, HasARowForEachSlotAndTheSum) {
  const run::RunAccount account{100, {slot_account(0, 0, "node1", 90), slot_account(1, 0, "node2", 80)}};
  EXPECT_EQ(account_table(account),
            "slot                 slots  trials  set-up s  training s  validation s  latency s  wait: work s "
            " utilization\n"
            "-------------------  -----  ------  --------  ----------  ------------  ---------  ------------ "
            " -----------\n"
            "rank 0 slot 0 node1      1       7       0.5        90.0           2.0        1.0           6.5 "
            "      93.0 %\n"
            "rank 1 slot 0 node2      1       7       0.5        80.0           2.0        1.0          16.5 "
            "      83.0 %\n"
            "-------------------  -----  ------  --------  ----------  ------------  ---------  ------------ "
            " -----------\n"
            "all                      2      14       1.0       170.0           4.0        2.0          23.0 "
            "      88.0 %\n"
            "utilization 88.0 %: 176.0 s of training, validation and latency in 2 slots over 100.0 s\n");
}

TEST(AccountTable, TellsWhatSlotsWaitedForIfTheyDid) {
  run::SlotAccount slot = slot_account(0, 0, "node1", 90);
  slot.wait_device_s = 0.04;
  slot.wait_files_s = 2.5;
  slot.wait_ranks_s = 0.05;
  const std::string text = account_table({100, {slot}});
  EXPECT_THAT(text, ::testing::HasSubstr("wait: work s  wait: files s  wait: MPI s  utilization\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("         6.5            2.5          0.1       "));
}

TEST(AccountTable, SumsUpNodesWhenThereAreMoreThanSixteenSlots) {
  run::RunAccount account{100, {}};
  for (int slot = 0; slot < 8; ++slot) account.slots.push_back(slot_account(0, slot, "node1", 90));
  for (int slot = 0; slot < 9; ++slot) account.slots.push_back(slot_account(1, slot, "node2", 80));
  const std::string text = account_table(account);
  EXPECT_THAT(text, ::testing::HasSubstr("node1      8      56       4.0       720.0"));
  EXPECT_THAT(text, ::testing::HasSubstr("node2      9      63       4.5       720.0"));
  EXPECT_THAT(text, ::testing::HasSubstr("all       17     119"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("rank")));
}

TEST(AccountTable, HasARowForEachJobOfARunThatWasResumed) {
  const std::vector<run::SlotAccount> first{slot_account(0, 0, "node1", 90), slot_account(1, 0, "node2", 80)};
  const std::string text = account_table(run::with_job(first, {slot_account(0, 0, "node1", 50)}));
  EXPECT_THAT(text, ::testing::HasSubstr("job 1      2      14       1.0       170.0"));
  EXPECT_THAT(text, ::testing::HasSubstr("job 2      1       7       0.5        50.0"));
  EXPECT_THAT(text, ::testing::HasSubstr("latency in 2 jobs over 200.0 s\n"));
}

TEST(AccountTable, HandlesAJobThatDidNothing) {
  EXPECT_EQ(account_table({}), "no slot worked in this job\n");
}

}  // namespace
}  // namespace skyline::report
