#include "engine/work/placement.hpp"

#include "skyline/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;

/// Ranks of one host each, with one slot.
RankTable ranks_on(const std::vector<std::size_t>& ranks_of_host) {
  RankTable table;
  for (const std::size_t ranks : ranks_of_host) {
    const std::string host = "node" + std::to_string(table.hosts.size());
    table.slots.insert(table.slots.end(), ranks, 1);
    table.hosts.insert(table.hosts.end(), ranks, host);
  }
  return table;
}

std::vector<std::size_t> blocks_on(const std::vector<std::size_t>& ranks_of_host, std::size_t ranks) {
  return blocks_of(ranks_on(ranks_of_host), ranks);
}

TEST(RanksOfGroup, AreAsManyAsMembersWhereThereAreRanksEnough) {
  EXPECT_EQ(ranks_of_group(1, 1), 1U);
  EXPECT_EQ(ranks_of_group(3, 3), 3U);
  EXPECT_EQ(ranks_of_group(4, 9), 4U);
}

TEST(RanksOfGroup, HoldPowersOfTwoOfMembersWhereThereAreNot) {
  EXPECT_EQ(ranks_of_group(4, 3), 2U);
  EXPECT_EQ(ranks_of_group(5, 4), 3U) << "2, 2 and 1";
  EXPECT_EQ(ranks_of_group(8, 7), 4U);
  EXPECT_EQ(ranks_of_group(9, 2), 2U) << "8 and 1";
  EXPECT_EQ(ranks_of_group(9, 1), 1U);
}

TEST(RanksForGroups, IsOneWhereGroupsCannotSpanRanks) {
  RankTable table = ranks_on({2, 2});
  EXPECT_EQ(ranks_for_groups(table), 4U);
  table.groups_span = false;
  EXPECT_EQ(ranks_for_groups(table), 1U);
}

TEST(BlocksOf, LieWithinHosts) {
  EXPECT_THAT(blocks_on({4, 4}, 2), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(blocks_on({3, 3}, 2), ElementsAre(0, 3)) << "not ranks 2 and 3";
  EXPECT_THAT(blocks_on({1, 3}, 2), ElementsAre(1));
  EXPECT_THAT(blocks_on({2, 2}, 1), ElementsAre(0, 1, 2, 3));
}

TEST(BlocksOf, SpanHostsWhereNoneIsLargeEnough) {
  EXPECT_THAT(blocks_on({2, 2, 2}, 3), ElementsAre(0, 3));
  EXPECT_THAT(blocks_on({1, 1, 1}, 2), ElementsAre(0));
}

TEST(BlocksOf, LeaveOutALostRank) {
  RankTable table = ranks_on({5, 2});
  table.slots[1] = 0;
  EXPECT_EQ(ranks_for_groups(table), 5U) << "ranks 2 to 6";
  EXPECT_THAT(blocks_of(table, 2), ElementsAre(2, 5));
  EXPECT_THAT(blocks_of(table, 3), ElementsAre(2));
  EXPECT_THAT(blocks_of(table, 5), ElementsAre(2)) << "over both hosts";
}

TEST(BlocksOf, LeaveOutARankZeroThatCoordinatesOnly) {
  RankTable table = ranks_on({5});
  table.slots[0] = 0;
  EXPECT_THAT(blocks_of(table, 2), ElementsAre(1, 3));
  EXPECT_THROW(blocks_of(table, 5), InternalError);
}

}  // namespace
}  // namespace skyline::engine
