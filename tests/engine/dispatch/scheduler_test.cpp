#include "engine/dispatch/scheduler.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using trial::TrialName;
using trial::TrialNumber;

/// Ranks of one host with so many slots each.
RankTable ranks_with(const std::vector<std::size_t>& slots) {
  RankTable table;
  table.slots = slots;
  table.hosts.assign(slots.size(), "node");
  table.processors.assign(slots.size(), 1);
  return table;
}

void submit_all(Scheduler& scheduler, const std::vector<TrialWork>& trials) {
  for (std::size_t i = 0; i < trials.size(); ++i) scheduler.submit({i}, trials[i]);
}

/// The trials that go out now.
std::vector<TrialNumber> started(Scheduler& scheduler) {
  std::vector<TrialNumber> trials;
  while (const auto start = scheduler.next()) trials.push_back(start->trial.number);
  return trials;
}

/// Trains until nothing waits: a trial takes its cost, in each of its slots.
struct Simulation {
  std::map<TrialNumber, Placement> places;
  std::map<TrialNumber, double> begins;
  double end = 0;

  void run(Scheduler& scheduler, const std::vector<TrialWork>& trials) {
    struct Running {
      TrialName trial;
      std::size_t rank = 0;
      std::size_t slot = 0;
    };
    std::multimap<double, Running> running;  // running trials by their end
    for (double now = 0;;) {
      while (const auto start = scheduler.next()) {
        places[start->trial.number] = start->place;
        begins[start->trial.number] = now;
        const double takes =
            trials[start->trial.number].cost / static_cast<double>(start->place.ranks.size());
        for (const std::size_t rank : start->place.ranks)
          running.emplace(now + takes, Running{start->trial, rank, start->place.slot});
      }
      if (running.empty()) return;
      const auto [when, first] = *running.begin();
      running.erase(running.begin());
      end = now = when;
      scheduler.ended(first.trial, first.rank, first.slot, trials[first.trial.number].cost);
    }
  }
};

/// Tries every way to spread the trials.
double best_makespan(const std::vector<TrialWork>& trials, std::size_t slots) {
  std::vector<std::size_t> slot_of(trials.size(), 0);
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    std::vector<double> loads(slots, 0);
    for (std::size_t i = 0; i < trials.size(); ++i) loads[slot_of[i]] += trials[i].cost;
    best = std::min(best, *std::ranges::max_element(loads));
    std::size_t i = 0;
    while (i < slot_of.size() && ++slot_of[i] == slots) slot_of[i++] = 0;
    if (i == slot_of.size()) return best;
  }
}

TEST(Scheduler, SendsTheLongestTrialsFirstAndOthersWhenASlotIsFree) {
  Scheduler scheduler(ranks_with({1, 1}), 0);
  submit_all(scheduler, {{1}, {9}, {2}, {8}, {1}});
  EXPECT_THAT(started(scheduler), ElementsAre(1, 3));
  scheduler.ended({3}, 1, 0, 8);
  const auto next = scheduler.next();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->trial.number, 2U);
  EXPECT_EQ(next->place, (Placement{{1}, 0}));
  EXPECT_THAT(started(scheduler), IsEmpty());
  scheduler.ended({1}, 0, 0, 9);
  scheduler.ended({2}, 1, 0, 2);
  EXPECT_THAT(started(scheduler), ElementsAre(0, 4)) << "of equal ones the lower number first";
}

TEST(Scheduler, SendsTheOldestTrialsFirstWhileMoreAreToCome) {
  Scheduler scheduler(ranks_with({1, 1}), 0);
  scheduler.expect_more(true);
  submit_all(scheduler, {{1}, {5}, {3}, {4}, {9}});
  EXPECT_THAT(started(scheduler), ElementsAre(0, 1));
  scheduler.ended({0}, 0, 0, 0);
  EXPECT_THAT(started(scheduler), ElementsAre(2));
  scheduler.expect_more(false);
  scheduler.ended({1}, 1, 0, 0);
  EXPECT_THAT(started(scheduler), ElementsAre(4)) << "now the longest";
}

TEST(Scheduler, FillsTheFirstSlotsOfAllRanksBeforeTheSecondOnes) {
  Scheduler scheduler(ranks_with({2, 1, 2}), 0);
  submit_all(scheduler, std::vector<TrialWork>(5, {1}));
  std::vector<std::size_t> ranks;
  while (const auto start = scheduler.next()) ranks.push_back(start->place.ranks.front());
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 0, 2));
}

TEST(Scheduler, StaysWithinGrahamsBoundOfTheBestOfAll) {
  RandomStream random(3);
  for (int round = 0; round < 200; ++round) {
    const std::size_t slots = 2 + random.below(2);
    std::vector<TrialWork> trials(1 + random.below(8));
    for (TrialWork& trial : trials) trial.cost = 1 + static_cast<double>(random.below(20));
    Scheduler scheduler(ranks_with({slots}), 0);
    submit_all(scheduler, trials);
    Simulation simulation;
    simulation.run(scheduler, trials);
    const double bound = 4.0 / 3.0 - 1.0 / (3.0 * static_cast<double>(slots));
    ASSERT_LE(simulation.end, bound * best_makespan(trials, slots) + 1e-9);
  }
}

TEST(Scheduler, RefusesCostsThatAreNoCosts) {
  Scheduler scheduler(ranks_with({1}), 0);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(scheduler.submit({0}, {bad}), InternalError);
    EXPECT_THROW(scheduler.submit({0}, {bad, 2}), InternalError);
  }
}

TEST(Scheduler, SendsShortTrialsToASlotAtWorkUpToTheTimeOfThePrefetch) {
  Scheduler scheduler(ranks_with({1}), 0.05);
  submit_all(scheduler, std::vector<TrialWork>(30, {1}));
  EXPECT_THAT(started(scheduler), ElementsAre(0)) << "it does not know yet how long they take";
  scheduler.ended({0}, 0, 0, 0.01);
  EXPECT_THAT(started(scheduler), ElementsAre(1, 2, 3, 4, 5)) << "50 ms in all";
}

TEST(Scheduler, ParksNothingBehindALongTrial) {
  Scheduler scheduler(ranks_with({1, 1}), 0.05);
  scheduler.submit({0}, {1});
  EXPECT_THAT(started(scheduler), ElementsAre(0));
  scheduler.ended({0}, 0, 0, 0.01);
  scheduler.submit({1}, {100});  // 1 s
  scheduler.submit({2}, {90});
  EXPECT_THAT(started(scheduler), ElementsAre(1, 2));
  scheduler.submit({3}, {1});
  EXPECT_THAT(started(scheduler), IsEmpty());
}

TEST(Scheduler, CountsTheEndOfATrialOnce) {
  Scheduler scheduler(ranks_with({1}), 0);
  submit_all(scheduler, {{1}, {1}});
  EXPECT_THAT(started(scheduler), ElementsAre(0));
  scheduler.ended({0}, 0, 0, 1);
  EXPECT_THAT(started(scheduler), ElementsAre(1));
  scheduler.ended({0}, 0, 0, 1);
  EXPECT_FALSE(scheduler.idle());
  scheduler.ended({1}, 0, 0, 1);
  EXPECT_TRUE(scheduler.idle());
}

TEST(Scheduler, PutsGroupsFirstTheWidestAndThenTheLongestOnesFirst) {
  const std::vector<TrialWork> trials{{50}, {2, 2}, {8, 2}, {4, 4}, {6, 2}};
  Scheduler scheduler(ranks_with({1, 1, 1, 1}), 0);
  submit_all(scheduler, trials);
  EXPECT_THAT(started(scheduler), ElementsAre(3));
  for (std::size_t rank = 0; rank < 4; ++rank) scheduler.ended({3}, rank, 0, 1);
  EXPECT_THAT(started(scheduler), ElementsAre(2, 4));
  for (std::size_t rank = 2; rank < 4; ++rank) scheduler.ended({4}, rank, 0, 3);
  EXPECT_THAT(started(scheduler), ElementsAre(1));
  for (std::size_t rank = 0; rank < 2; ++rank) scheduler.ended({2}, rank, 0, 4);
  EXPECT_THAT(started(scheduler), ElementsAre(0));
}

TEST(Scheduler, HoldsTheFirstSlotsOfABlockForAGroupAndGivesTheOthersToSingleTrials) {
  Scheduler scheduler(ranks_with({2, 2}), 0);
  scheduler.submit({0}, {5});
  EXPECT_THAT(started(scheduler), ElementsAre(0));
  scheduler.submit({1}, {9, 2});
  submit_all(scheduler, {});
  for (TrialNumber number = 2; number < 6; ++number) scheduler.submit({number}, {1});
  std::vector<std::size_t> slots;
  while (const auto start = scheduler.next()) slots.push_back(start->place.slot);
  EXPECT_THAT(slots, ElementsAre(1, 1)) << "the first slot of rank 1 is free, and held";
  scheduler.ended({0}, 0, 0, 5);
  const auto group = scheduler.next();
  ASSERT_TRUE(group);
  EXPECT_EQ(group->trial.number, 1U);
  EXPECT_EQ(group->place, (Placement{{0, 1}, 0}));
}

TEST(Scheduler, TrainsATrialAloneAfterAllOthers) {
  Scheduler scheduler(ranks_with({2}), 1);
  submit_all(scheduler, {{9, 1, true}, {1}, {9, 1, true}});
  EXPECT_THAT(started(scheduler), ElementsAre(1));
  scheduler.ended({1}, 0, 0, 1e-3);
  EXPECT_THAT(started(scheduler), ElementsAre(0));
  scheduler.submit({3}, {1});
  EXPECT_THAT(started(scheduler), IsEmpty()) << "nothing trains beside it";
  scheduler.ended({0}, 0, 0, 1);
  EXPECT_THAT(started(scheduler), ElementsAre(3));
  EXPECT_FALSE(scheduler.idle());
}

TEST(Scheduler, DropsWhatWaitsAndFreesWhatItHeld) {
  Scheduler scheduler(ranks_with({1, 1}), 0);
  scheduler.submit({0}, {5});
  EXPECT_THAT(started(scheduler), ElementsAre(0));
  scheduler.submit({1}, {9, 2});
  scheduler.submit({2}, {1, 1, true});
  scheduler.submit({3}, {1});
  EXPECT_THAT(started(scheduler), IsEmpty());
  EXPECT_THAT(scheduler.drop_waiting(),
              ::testing::UnorderedElementsAre(TrialName{1}, TrialName{2}, TrialName{3}));
  scheduler.submit({4}, {1});
  EXPECT_THAT(started(scheduler), ElementsAre(4));
  scheduler.ended({4}, 1, 0, 1);
  scheduler.ended({0}, 0, 0, 1);
  EXPECT_TRUE(scheduler.idle());
}

TEST(Scheduler, ForgetsWhatALostRankHadAndGivesItNothingAnyMore) {
  Scheduler scheduler(ranks_with({1, 2}), 0);
  submit_all(scheduler, std::vector<TrialWork>(5, {1}));
  EXPECT_THAT(started(scheduler), ElementsAre(0, 1, 2));
  scheduler.lose(1);
  EXPECT_THAT(started(scheduler), IsEmpty());
  scheduler.submit({1}, {1});
  scheduler.ended({0}, 0, 0, 1);
  for (const TrialNumber next : {1U, 3U, 4U}) {
    const auto start = scheduler.next();
    ASSERT_TRUE(start);
    EXPECT_EQ(start->trial.number, next);
    EXPECT_EQ(start->place, (Placement{{0}, 0}));
    scheduler.ended(start->trial, 0, 0, 1);
  }
  EXPECT_TRUE(scheduler.idle());
  scheduler.lose(0);
  EXPECT_TRUE(scheduler.idle()) << "nobody is left, and nobody is needed";
  EXPECT_THROW(scheduler.submit({5}, {1}), FaultError);
}

TEST(Scheduler, EndsARunWhoseLastRankIsLostWhileTrialsWait) {
  Scheduler scheduler(ranks_with({1}), 0);
  submit_all(scheduler, {{1}, {1}});
  EXPECT_THAT(started(scheduler), ElementsAre(0));
  EXPECT_THROW(scheduler.lose(0), FaultError);
}

TEST(Scheduler, GivesABadHostNoMoreWorkAsLongAsAnotherTrains) {
  RankTable table = ranks_with({1, 1, 1});
  table.hosts = {"good", "bad", "bad"};
  Scheduler scheduler(table, 0);
  submit_all(scheduler, std::vector<TrialWork>(4, {1}));
  EXPECT_THAT(started(scheduler), ElementsAre(0, 1, 2));
  EXPECT_TRUE(scheduler.retire("bad"));
  EXPECT_FALSE(scheduler.retire("good"));
  scheduler.ended({1}, 1, 0, 1);
  scheduler.ended({2}, 2, 0, 1);
  EXPECT_THAT(started(scheduler), IsEmpty());
  scheduler.ended({0}, 0, 0, 1);
  EXPECT_THAT(started(scheduler), ElementsAre(3));
  scheduler.ended({3}, 0, 0, 1);
  EXPECT_TRUE(scheduler.idle());
}

TEST(Scheduler, SpreadsWaitingGroupsOverTheRanksThatAreLeft) {
  Scheduler scheduler(ranks_with({1, 1, 1, 1}), 0);
  scheduler.submit({0}, {1});
  EXPECT_THAT(started(scheduler), ElementsAre(0));
  scheduler.submit({1}, {9, 4});
  EXPECT_THAT(started(scheduler), IsEmpty()) << "it holds all four";
  scheduler.lose(1);
  EXPECT_THAT(started(scheduler), IsEmpty()) << "it holds ranks 0 and 2, for two members each";
  scheduler.ended({0}, 0, 0, 1);
  const auto start = scheduler.next();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->place, (Placement{{0, 2}, 0}));
}

TEST(Scheduler, TakesAGroupAgainWhileItsOtherRanksAreStillAtWork) {
  Scheduler scheduler(ranks_with({1, 1, 1}), 0);
  scheduler.submit({0}, {1, 3});
  EXPECT_THAT(started(scheduler), ElementsAre(0));
  scheduler.lose(0);
  scheduler.submit({0}, {1, 3});
  EXPECT_THAT(started(scheduler), IsEmpty());
  scheduler.ended({0}, 2, 0, 0);
  EXPECT_THAT(started(scheduler), IsEmpty());
  scheduler.ended({0}, 1, 0, 0);
  const auto start = scheduler.next();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->place, (Placement{{1, 2}, 0}));
}

TEST(Scheduler, SendsATrialThatAvoidsARankToAnotherAndLetsOthersPass) {
  for (const bool more : {false, true}) {
    Scheduler scheduler(ranks_with({1, 1}), 0);
    scheduler.expect_more(more);
    submit_all(scheduler, {{1}, {1}});
    EXPECT_THAT(started(scheduler), ElementsAre(0, 1));
    scheduler.ended({0}, 0, 0, 1);
    scheduler.submit({0}, {.cost = 1, .tried_on = {0}});
    EXPECT_THAT(started(scheduler), IsEmpty());
    scheduler.submit({2}, {.cost = 0.5});
    EXPECT_EQ(scheduler.next().value().place, (Placement{{0}, 0})) << "trial 2";
    scheduler.ended({1}, 1, 0, 1);
    EXPECT_EQ(scheduler.next().value().place, (Placement{{1}, 0})) << "trial 0";
  }
}

TEST(Scheduler, SendsATrialWhereItWasIfNoOtherRankTrains) {
  Scheduler scheduler(ranks_with({1, 1}), 0);
  scheduler.submit({0}, {.cost = 1, .tried_on = {0}});
  scheduler.lose(1);
  EXPECT_THAT(started(scheduler), ElementsAre(0));
}

/// Ranks of these hosts with one slot each.
RankTable ranks_on(const std::vector<std::string>& hosts) {
  RankTable table = ranks_with(std::vector<std::size_t>(hosts.size(), 1));
  table.hosts = hosts;
  return table;
}

/// Returns the ranks to which trials that are tried again go one after the other, while nothing ends.
std::vector<std::size_t> ranks_of_tries(Scheduler& scheduler, const std::vector<std::size_t>& tried_on,
                                        std::size_t count) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < count; ++i) scheduler.submit({i}, {.cost = 1, .tried_on = tried_on});
  while (const auto start = scheduler.next()) ranks.push_back(start->place.ranks.front());
  return ranks;
}

TEST(Scheduler, SendsATrialThatHasFailedToAnotherHost) {
  Scheduler scheduler(ranks_on({"a", "a", "b"}), 0);
  EXPECT_THAT(ranks_of_tries(scheduler, {0}, 3), ElementsAre(2));
  scheduler.lose(2);
  EXPECT_THAT(started(scheduler), ElementsAre(1)) << "to another rank, as no other host trains";
}

TEST(Scheduler, SendsATrialThatHasFailedToAHostThatIsNotInDoubt) {
  Scheduler scheduler(ranks_on({"a", "b", "c"}), 0);
  scheduler.set_in_doubt("b", true);
  EXPECT_THAT(ranks_of_tries(scheduler, {0}, 2), ElementsAre(2));
  scheduler.set_in_doubt("b", false);
  EXPECT_THAT(started(scheduler), ElementsAre(1));
  scheduler.submit({7}, {1});
  EXPECT_THAT(started(scheduler), ElementsAre(7)) << "a fresh one goes anywhere";
}

TEST(Scheduler, SendsATrialThatHasFailedToAHostInDoubtIfThereIsNoOther) {
  Scheduler scheduler(ranks_on({"a", "b"}), 0);
  scheduler.set_in_doubt("b", true);
  EXPECT_THAT(ranks_of_tries(scheduler, {0}, 1), ElementsAre(1));
}

TEST(Scheduler, SendsATrialThatHasFailedOnAllHostsToOneThatWasNotTheLast) {
  Scheduler scheduler(ranks_on({"a", "b", "b"}), 0);
  EXPECT_THAT(ranks_of_tries(scheduler, {0, 1}, 2), ElementsAre(0));
  scheduler.lose(0);
  EXPECT_THAT(started(scheduler), ElementsAre(1)) << "on rank 2";
  Scheduler groups(ranks_on({"a", "a", "b", "b"}), 0);
  groups.submit({0}, {.cost = 1, .members = 2, .tried_on = {2, 3, 0, 1}});
  EXPECT_EQ(groups.next().value().place, (Placement{{2, 3}, 0}));
}

TEST(Scheduler, SendsAGroupThatHasFailedToAnotherHostAndLetsOthersPass) {
  Scheduler scheduler(ranks_on({"a", "a", "b", "b"}), 0);
  scheduler.submit({0}, {.cost = 9, .members = 2});
  scheduler.submit({1}, {.cost = 8, .members = 2});
  EXPECT_THAT(started(scheduler), ElementsAre(0, 1));
  for (const std::size_t rank : {0U, 1U}) scheduler.ended({0}, rank, 0, 0);
  scheduler.submit({0}, {.cost = 9, .members = 2, .tried_on = {0, 1}});
  scheduler.submit({2}, {.cost = 1, .members = 2});
  EXPECT_THAT(started(scheduler), ElementsAre(2)) << "on a";
  for (const std::size_t rank : {2U, 3U}) scheduler.ended({1}, rank, 0, 0);
  EXPECT_EQ(scheduler.next().value().place, (Placement{{2, 3}, 0})) << "trial 0";
  for (const std::size_t rank : {2U, 3U}) scheduler.ended({0}, rank, 0, 0);
  scheduler.retire("b");
  scheduler.submit({0}, {.cost = 9, .members = 2, .tried_on = {0, 1}});
  EXPECT_THAT(started(scheduler), IsEmpty());
  for (const std::size_t rank : {0U, 1U}) scheduler.ended({2}, rank, 0, 0);
  EXPECT_THAT(started(scheduler), ElementsAre(0)) << "no other host trains";
}

/// Slots that there are, and first ones of each rank for groups.
void expect_right_place(const Placement& place, const TrialWork& trial, const RankTable& table) {
  for (const std::size_t rank : place.ranks) {
    ASSERT_LT(rank, table.slots.size());
    EXPECT_LT(place.slot, table.slots[rank]);
  }
  EXPECT_EQ(std::set(place.ranks.begin(), place.ranks.end()).size(), place.ranks.size());
  if (trial.members > 1) {
    EXPECT_EQ(place.slot, 0U);
    EXPECT_EQ(place.ranks.size(), ranks_of_group(trial.members, ranks_for_groups(table)));
  } else {
    EXPECT_EQ(place.ranks.size(), 1U);
  }
}

TEST(Scheduler, TrainsEveryTrialOnSlotsThatThereAreWhateverTheGroups) {
  RandomStream random(4);
  for (int repeat = 0; repeat < 500; ++repeat) {
    RankTable table = ranks_with(std::vector<std::size_t>(1 + random.below(8)));
    for (std::size_t& slots : table.slots) slots = 1 + random.below(3);
    for (std::size_t rank = 0; rank < table.hosts.size(); ++rank)
      table.hosts[rank] = std::to_string(repeat % 2 == 0 ? rank / 3 : rank % 3);
    if (table.slots.size() > 1 && random.below(2) == 0) table.slots[0] = 0;
    table.groups_span = random.below(4) > 0;
    std::vector<TrialWork> trials(1 + random.below(30));
    for (TrialWork& trial : trials) {
      trial.cost = 1 + random.uniform();
      trial.members = static_cast<std::uint32_t>(1 + random.below(9));
      if (random.below(2) == 0) trial.members = 1;
      trial.alone = random.below(10) == 0;
    }
    Scheduler scheduler(table, random.below(2) == 0 ? 0 : 3);
    submit_all(scheduler, trials);
    Simulation simulation;
    simulation.run(scheduler, trials);
    ASSERT_TRUE(scheduler.idle()) << repeat;
    ASSERT_EQ(simulation.places.size(), trials.size()) << repeat;
    for (const auto& [trial, place] : simulation.places) expect_right_place(place, trials[trial], table);
  }
}

}  // namespace
}  // namespace skyline::engine
