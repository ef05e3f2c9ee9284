#include "engine/dispatch/packing.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;

double makespan(const std::vector<double>& costs, const std::vector<std::size_t>& slot_of,
                std::size_t slots) {
  std::vector<double> loads(slots, 0);
  for (std::size_t i = 0; i < costs.size(); ++i) loads[slot_of[i]] += costs[i];
  return *std::ranges::max_element(loads);
}

/// Tries every way to spread the trials.
double best_makespan(const std::vector<double>& costs, std::size_t slots) {
  std::vector<std::size_t> slot_of(costs.size(), 0);
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    best = std::min(best, makespan(costs, slot_of, slots));
    std::size_t i = 0;
    while (i < slot_of.size() && ++slot_of[i] == slots) slot_of[i++] = 0;
    if (i == slot_of.size()) return best;
  }
}

std::vector<std::size_t> pack_onto(const std::vector<double>& costs, std::size_t slots,
                                   std::size_t capacity) {
  return pack(costs, std::vector<SlotLoad>(slots), capacity);
}

TEST(Pack, PutsTheLongestOntoSlotsOfTheirOwn) {
  EXPECT_THAT(pack_onto({1, 9, 1, 8, 1}, 2, 5), ElementsAre(1, 0, 0, 1, 1));
}

TEST(Pack, BreaksTiesByOrder) {
  EXPECT_THAT(pack_onto({3, 3, 3, 3}, 3, 4), ElementsAre(0, 1, 2, 0));
}

TEST(Pack, TakesNoTrials) {
  EXPECT_TRUE(pack_onto({}, 3, 1).empty());
}

TEST(Pack, RefusesCostsThatAreNoCosts) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(pack_onto({1, bad}, 2, 2), InternalError);
  }
}

TEST(Pack, RefusesMoreTrialsThanFit) {
  EXPECT_THROW(pack_onto({1, 1, 1}, 2, 1), InternalError);
}

TEST(Pack, KeepsToTheCapacityOfASlot) {
  const auto slot_of = pack_onto({10, 1, 1, 1}, 2, 2);
  EXPECT_EQ(std::ranges::count(slot_of, 0U), 2);
  EXPECT_EQ(std::ranges::count(slot_of, 1U), 2);
}

TEST(Pack, TakesIntoAccountWhatSlotsHaveToDoAlready) {
  const std::vector<SlotLoad> loads = {{5, 1}, {0, 0}, {1, 2}};
  EXPECT_THAT(pack(std::vector<double>{1, 3, 1}, loads, 3), ElementsAre(2, 1, 1));
  EXPECT_THAT(pack(std::vector<double>{1, 1, 1}, loads, 2), ElementsAre(1, 1, 0)) << "slot 2 is full";
}

TEST(Pack, StaysWithinGrahamsBoundOfTheBestOfAll) {
  RandomStream random(3);
  for (int round = 0; round < 200; ++round) {
    const std::size_t slots = 2 + random.below(2);
    std::vector<double> costs(1 + random.below(8));
    for (double& cost : costs) cost = 1 + static_cast<double>(random.below(20));
    const double found = makespan(costs, pack_onto(costs, slots, costs.size()), slots);
    const double bound = 4.0 / 3.0 - 1.0 / (3.0 * static_cast<double>(slots));
    ASSERT_LE(found, bound * best_makespan(costs, slots) + 1e-9);
  }
}

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
  const std::vector<TrialWork> trials{{1.0, 4}, {1.0, 4}};
  for (const Placement& place : plan_round(trials, table, 8).places) EXPECT_EQ(place.ranks, 1U);
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

TEST(BlocksOf, LeaveOutARankZeroThatCoordinatesOnly) {
  RankTable table = ranks_on({5});
  table.slots[0] = 0;
  EXPECT_THAT(blocks_of(table, 2), ElementsAre(1, 3));
  EXPECT_THROW(blocks_of(table, 5), InternalError);
}

std::vector<std::size_t> first_ranks(const RoundPlan& plan) {
  std::vector<std::size_t> ranks;
  for (const Placement& place : plan.places) ranks.push_back(place.rank);
  return ranks;
}

TEST(PlanRound, KeepsTheOrderOfNumbersWithoutGroups) {
  const RoundPlan plan = plan_round(std::vector<TrialWork>{{1}, {9}, {1}, {8}, {1}}, ranks_on({2}), 5);
  EXPECT_THAT(plan.order, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(first_ranks(plan), ElementsAre(1, 0, 0, 1, 1));
}

TEST(PlanRound, PutsGroupsFirstTheWidestAndThenTheLongestOnesFirst) {
  const RoundPlan plan =
      plan_round(std::vector<TrialWork>{{50}, {2, 2}, {8, 2}, {4, 4}, {6, 2}}, ranks_on({4}), 9);
  EXPECT_THAT(plan.order, ElementsAre(3, 2, 4, 1, 0));
  EXPECT_THAT(first_ranks(plan), ElementsAre(0, 2, 0, 0, 2)) << "trial 1 follows trial 4";
  EXPECT_EQ(plan.places[3].ranks, 4U);
  EXPECT_EQ(plan.places[4].ranks, 2U);
  EXPECT_EQ(plan.places[0].ranks, 1U);
}

TEST(PlanRound, SpreadsEqualGroupsEvenly) {
  const RoundPlan plan = plan_round(std::vector<TrialWork>(6, {4, 2}), ranks_on({2, 4}), 6);
  EXPECT_THAT(first_ranks(plan), ElementsAre(0, 2, 4, 0, 2, 4));
}

TEST(PlanRound, GivesTrialsOfOneMemberToTheSlotsThatGroupsLeaveFree) {
  RankTable table = ranks_on({2});
  table.slots = {2, 2};
  const RoundPlan plan = plan_round(std::vector<TrialWork>{{1}, {20, 2}, {1}}, table, 9);
  EXPECT_EQ(plan.places[0].slot, 1U);
  EXPECT_EQ(plan.places[2].slot, 1U);
  EXPECT_NE(plan.places[0].rank, plan.places[2].rank);
  EXPECT_EQ(plan.places[1].slot, 0U);
}

TEST(PlanRound, RefusesCostsThatAreNoCosts) {
  EXPECT_THROW(plan_round(std::vector<TrialWork>{{-1, 2}}, ranks_on({2}), 9), InternalError);
}

struct RandomRound {
  RankTable table;
  std::vector<TrialWork> trials;
};

RandomRound random_round(RandomStream& random) {
  RandomRound round;
  std::vector<std::size_t> hosts(1 + random.below(3));
  for (std::size_t& ranks : hosts) ranks = 1 + random.below(4);
  round.table = ranks_on(hosts);
  for (std::size_t& slots : round.table.slots) slots = 1 + random.below(3);
  if (round.table.slots.size() > 1 && random.below(2) == 0) round.table.slots[0] = 0;
  round.trials.resize(1 + random.below(20));
  for (TrialWork& trial : round.trials) {
    trial.cost = 1 + random.uniform();
    trial.members = static_cast<std::uint32_t>(1 + random.below(9));
  }
  return round;
}

/// The groups' trials of each rank's first slot, in its order.
std::vector<std::vector<std::size_t>> group_queues(const RandomRound& round, const RoundPlan& plan) {
  std::vector<std::vector<std::size_t>> queues(round.table.slots.size());
  for (const std::size_t trial : plan.order) {
    if (round.trials[trial].members == 1) continue;
    const Placement& place = plan.places[trial];
    for (std::size_t r = place.rank; r < place.rank + place.ranks; ++r) queues[r].push_back(trial);
  }
  return queues;
}

/// Trains a group whenever all its ranks have come to it; returns how many never are.
std::size_t groups_that_wait_for_ever(std::vector<std::vector<std::size_t>> queues, const RoundPlan& plan) {
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t rank = 0; rank < queues.size(); ++rank) {
      if (queues[rank].empty()) continue;
      const std::size_t trial = queues[rank].front();
      const Placement& place = plan.places[trial];
      const std::span block = std::span(queues).subspan(place.rank, place.ranks);
      if (!std::ranges::all_of(block, [&](const auto& queue) { return queue.front() == trial; })) continue;
      for (auto& queue : block) queue.erase(queue.begin());
      progress = true;
    }
  }
  std::size_t left = 0;
  for (const auto& queue : queues) left += queue.size();
  return left;
}

TEST(PlanRound, LetsNoTwoGroupsWaitForEachOther) {
  RandomStream random(4);
  for (int repeat = 0; repeat < 500; ++repeat) {
    const RandomRound round = random_round(random);
    const RoundPlan plan = plan_round(round.trials, round.table, round.trials.size());
    ASSERT_EQ(groups_that_wait_for_ever(group_queues(round, plan), plan), 0U) << repeat;
  }
}

TEST(PlanRound, UsesOnlySlotsThatThereAreAndFirstOnesForGroups) {
  RandomStream random(5);
  for (int repeat = 0; repeat < 500; ++repeat) {
    const RandomRound round = random_round(random);
    const RoundPlan plan = plan_round(round.trials, round.table, round.trials.size());
    std::vector<std::size_t> sorted = plan.order;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < round.trials.size(); ++i) {
      ASSERT_EQ(sorted[i], i);
      const Placement& place = plan.places[i];
      ASSERT_LE(place.rank + place.ranks, round.table.slots.size());
      for (std::size_t r = place.rank; r < place.rank + place.ranks; ++r) {
        ASSERT_LT(place.slot, round.table.slots[r]);
      }
      if (round.trials[i].members > 1) {
        ASSERT_EQ(place.slot, 0U);
      } else {
        ASSERT_EQ(place.ranks, 1U);
      }
    }
  }
}

}  // namespace
}  // namespace skyline::engine
