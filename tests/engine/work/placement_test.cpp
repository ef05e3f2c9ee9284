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

std::vector<Block> blocks_on(const std::vector<std::size_t>& ranks_of_host, std::size_t ranks) {
  return blocks_of(ranks_on(ranks_of_host), ranks);
}

TEST(RanksOfGroup, AreAsManyAsMembersWhereThereAreRanksEnough) {
  EXPECT_EQ(ranks_of_group(1, 1), 1U);
  EXPECT_EQ(ranks_of_group(3, 3), 3U);
  EXPECT_EQ(ranks_of_group(4, 9), 4U);
}

TEST(RanksOfGroup, HoldPowersOfTwoOfMembersWhereThereAreTooFewRanks) {
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
  EXPECT_THAT(blocks_on({4, 4}, 2), ElementsAre(Block{0, 1}, Block{2, 3}, Block{4, 5}, Block{6, 7}));
  EXPECT_THAT(blocks_on({3, 3}, 2), ElementsAre(Block{0, 1}, Block{3, 4})) << "not ranks 2 and 3";
  EXPECT_THAT(blocks_on({1, 3}, 2), ElementsAre(Block{1, 2}));
  EXPECT_THAT(blocks_on({2, 1}, 1), ElementsAre(Block{0}, Block{1}, Block{2}));
}

TEST(BlocksOf, LieWithinHostsThatGotRanksInTurn) {
  RankTable table = ranks_on({6});
  table.hosts = {"a", "b", "c", "a", "b", "c"};
  EXPECT_THAT(blocks_of(table, 2), ElementsAre(Block{0, 3}, Block{1, 4}, Block{2, 5}));
  EXPECT_THAT(blocks_of(table, 3), ElementsAre(Block{0, 3, 1}, Block{4, 2, 5})) << "on two hosts each";
}

TEST(BlocksOf, SpanHostsWhereNoneIsLargeEnough) {
  EXPECT_THAT(blocks_on({2, 2, 2}, 3), ElementsAre(Block{0, 1, 2}, Block{3, 4, 5}));
  EXPECT_THAT(blocks_on({1, 1, 1}, 2), ElementsAre(Block{0, 1}));
}

TEST(BlocksOf, LeaveOutALostRank) {
  RankTable table = ranks_on({5, 2});
  table.slots[1] = 0;
  EXPECT_EQ(ranks_for_groups(table), 6U);
  EXPECT_THAT(blocks_of(table, 2), ElementsAre(Block{0, 2}, Block{3, 4}, Block{5, 6}));
  EXPECT_THAT(blocks_of(table, 3), ElementsAre(Block{0, 2, 3}));
  EXPECT_THAT(blocks_of(table, 6), ElementsAre(Block{0, 2, 3, 4, 5, 6})) << "over both hosts";
}

TEST(BlocksOf, LeaveOutARankZeroThatCoordinatesOnly) {
  RankTable table = ranks_on({5});
  table.slots[0] = 0;
  EXPECT_THAT(blocks_of(table, 2), ElementsAre(Block{1, 2}, Block{3, 4}));
  EXPECT_THROW(blocks_of(table, 5), InternalError);
}

}  // namespace
}  // namespace skyline::engine
