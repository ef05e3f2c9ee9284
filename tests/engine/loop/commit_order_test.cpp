#include "engine/loop/commit_order.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;

trial::Trial trial(trial::TrialNumber number, std::uint64_t cost = 1) {
  trial::Trial result;
  result.number = number;
  result.cost = cost;
  return result;
}

Arrival arrival(trial::TrialNumber number) {
  return {{number}, trial::Measurements{{static_cast<double>(number)}}, {}};
}

TEST(CommitsByNumber, HoldsResultsBackUntilAllEarlierOnesAreHere) {
  CommitsByNumber order(std::nullopt);
  for (trial::TrialNumber number = 0; number < 3; ++number) order.asked(trial(number));
  order.arrived(arrival(2));
  order.arrived(arrival(1));
  EXPECT_FALSE(order.next());
  EXPECT_EQ(order.waiting(), 2U);
  order.arrived(arrival(0));
  for (trial::TrialNumber number = 0; number < 3; ++number) {
    const auto next = order.next();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->committed->trial.number, number);
  }
  EXPECT_TRUE(order.in_flight() == 0);
  EXPECT_EQ(order.waiting(), 0U);
}

TEST(CommitsByNumber, CarriesOutcomeAndTimingWithTheTrial) {
  CommitsByNumber order(1);
  const AskedTrial asked = order.asked(trial(0));
  Arrival failed{{0}, trial::Failure{trial::FailureKind::kDiverged, "loss is NaN"}, {}};
  failed.timing.train_s = 4;
  order.arrived(failed);
  const auto next = order.next();
  ASSERT_TRUE(next);
  EXPECT_EQ(&next->committed->trial, asked.get());
  EXPECT_EQ(std::get<trial::Failure>(next->committed->outcome).reason, "loss is NaN");
  EXPECT_EQ(next->committed->timing.train_s, 4);
}

TEST(CommitsByNumber, HasRoomForAGenerationWhenThereIsNoWindowAndNothingIsInFlight) {
  CommitsByNumber order(std::nullopt);
  EXPECT_EQ(order.room(), std::numeric_limits<std::size_t>::max());
  order.asked(trial(0));
  order.asked(trial(1));
  EXPECT_EQ(order.room(), 0U);
  order.arrived(arrival(0));
  ASSERT_TRUE(order.next());
  EXPECT_EQ(order.room(), 0U);
  order.arrived(arrival(1));
  ASSERT_TRUE(order.next());
  EXPECT_EQ(order.room(), std::numeric_limits<std::size_t>::max());
}

TEST(CommitsByNumber, CountsTrialsThatTheSearchIsNotToldOfAsInFlight) {
  CommitsByNumber window(4);
  window.asked(trial(0));
  EXPECT_EQ(window.room(2), 1U);
  CommitsByNumber generation(std::nullopt);
  EXPECT_EQ(generation.room(1), 0U);
}

TEST(CommitsByNumber, GivesOutResultsThatWaitOnce) {
  CommitsByNumber order(std::nullopt);
  for (trial::TrialNumber number = 0; number < 4; ++number) order.asked(trial(number));
  const auto waiting = [&] {
    std::vector<trial::TrialNumber> numbers;
    for (const auto& result : order.take_waiting()) numbers.push_back(result->trial.number);
    return numbers;
  };
  order.arrived(arrival(2));
  Arrival recorded = arrival(1);
  recorded.replayed = true;
  order.arrived(recorded);
  EXPECT_THAT(waiting(), ElementsAre(2));
  order.arrived(arrival(3));
  EXPECT_THAT(waiting(), ElementsAre(3));
}

TEST(CommitsByNumber, RefusesWhatCannotBe) {
  EXPECT_THROW(CommitsByNumber(0), InternalError);
  CommitsByNumber order(1);
  EXPECT_THROW(order.arrived(arrival(0)), InternalError);
  order.asked(trial(0));
  EXPECT_THROW(order.asked(trial(1)), InternalError);
  order.arrived(arrival(0));
  EXPECT_THROW(order.arrived(arrival(0)), InternalError);
  ASSERT_TRUE(order.next());
  EXPECT_THROW(order.arrived(arrival(0)), InternalError);
}

TEST(CommitsByNumber, CommitsInTheOrderOfAskingWhateverTheNumbers) {
  CommitsByNumber order(std::nullopt);
  trial::Trial full = trial(4);
  full.proposal.trains = 4;
  order.asked(trial(9));
  order.asked(full);
  order.asked(trial(4));
  EXPECT_THROW(order.asked(trial(4)), InternalError);
  order.arrived(arrival(4));
  order.arrived({{4, true}, trial::Measurements{}, {}});
  order.arrived(arrival(9));
  std::vector<std::string> names;
  while (const auto next = order.next()) {
    names.push_back(to_text(next->committed->trial.name()));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"9", "4.final", "4"}));
}

/// Numbers of all trials that can be committed now.
std::vector<trial::TrialNumber> commits_of(CommitOrder& order) {
  std::vector<trial::TrialNumber> numbers;
  while (const auto next = order.next()) numbers.push_back(next->committed->trial.number);
  return numbers;
}

TEST(CommitsByVirtualTime, CommitsShortTrialsBeforeLongOnesThatWereAskedForEarlier) {
  CommitsByVirtualTime order(4, 2);
  order.asked(trial(0, 10));  // until 10
  order.asked(trial(1, 3));   // until 3
  order.asked(trial(2, 4));   // behind it, until 7
  order.asked(trial(3, 4));   // behind that, until 11
  for (const trial::TrialNumber number : {0U, 3U, 2U}) order.arrived(arrival(number));
  EXPECT_EQ(order.due()->number, 1U);
  EXPECT_FALSE(order.next()) << "trial 1 is the first to end on the clock, whatever has arrived";
  order.arrived(arrival(1));
  EXPECT_THAT(commits_of(order), ElementsAre(1, 2, 0, 3));
}

TEST(CommitsByVirtualTime, StartsTrialsNotBeforeTheyAreAskedFor) {
  CommitsByVirtualTime order(3, 2);
  order.asked(trial(0, 10));
  order.asked(trial(1, 20));
  order.arrived(arrival(0));
  EXPECT_THAT(commits_of(order), ElementsAre(0));
  order.asked(trial(2, 9));  // virtual time 10 until 19
  order.arrived(arrival(1));
  order.arrived(arrival(2));
  EXPECT_THAT(commits_of(order), ElementsAre(2, 1));
  order.asked(trial(3, 5));  // virtual time 20 until 25, though a slot is free since 19
  order.asked(trial(4, 4));
  order.arrived(arrival(3));
  order.arrived(arrival(4));
  EXPECT_THAT(commits_of(order), ElementsAre(4, 3));
}

TEST(CommitsByVirtualTime, KeepsTheOrderOfAskingWhereTrialsEndTogether) {
  CommitsByVirtualTime order(std::nullopt, 3);
  for (const trial::TrialNumber number : {5U, 2U, 8U, 1U}) order.asked(trial(number, 7));
  for (const trial::TrialNumber number : {1U, 2U, 5U, 8U}) order.arrived(arrival(number));
  EXPECT_THAT(commits_of(order), ElementsAre(5, 2, 8, 1));
}

TEST(CommitsByVirtualTime, SharesTheCostOfATrialAmongItsMembers) {
  CommitsByVirtualTime order(2, 2);
  trial::Trial group = trial(0, 12);
  group.members = 4;
  order.asked(group);
  order.asked(trial(1, 4));
  order.arrived(arrival(0));
  order.arrived(arrival(1));
  EXPECT_THAT(commits_of(order), ElementsAre(0, 1));
}

TEST(CommitsByVirtualTime, CountsCostsOfAnySize) {
  CommitsByVirtualTime order(100, 1);
  for (trial::TrialNumber number = 0; number < 100; ++number) {
    order.asked(trial(number, std::uint64_t{1} << 62U));
  }
  for (trial::TrialNumber number = 0; number < 100; ++number) order.arrived(arrival(number));
  EXPECT_TRUE(std::ranges::is_sorted(commits_of(order)));
}

TEST(CommitsByVirtualTime, FollowsTheJournalOfARunThatWasExtended) {
  CommitsByVirtualTime order(3, 2);
  order.asked(trial(0, 10));
  order.asked(trial(1, 5));
  order.arrived(arrival(0));
  order.arrived(arrival(1));
  EXPECT_EQ(order.next(trial::TrialName{0})->committed->trial.number, 0U);
  order.asked(trial(2, 1));  // start at virtual time 10: the clock never goes back
  order.arrived(arrival(2));
  EXPECT_THAT(commits_of(order), ElementsAre(1, 2));
}

/// Whatever the order of arrivals.
TEST(CommitsByVirtualTime, CommitsTheSameForAnyOrderOfArrivals) {
  for (const std::size_t window : {std::size_t{4}, std::size_t{9}}) {
    std::vector<trial::TrialNumber> expected;
    for (std::uint64_t arrivals = 0; arrivals < 20; ++arrivals) {
      RandomStream random(arrivals);
      CommitsByVirtualTime order(window, 4);
      std::vector<trial::TrialNumber> under_way;
      std::vector<trial::TrialNumber> committed;
      trial::TrialNumber asked = 0;
      while (committed.size() < 200) {
        for (; order.room() > 0 && asked < 200; ++asked) {
          order.asked(trial(asked, 1 + RandomStream(asked).below(50)));
          under_way.push_back(asked);
        }
        const auto pick = static_cast<std::ptrdiff_t>(random.below(under_way.size()));
        order.arrived(arrival(under_way.at(static_cast<std::size_t>(pick))));
        under_way.erase(under_way.begin() + pick);
        while (const auto next = order.next()) {
          committed.push_back(next->committed->trial.number);
          if (order.room() > 0 && asked < 200) {
            order.asked(trial(asked, 1 + RandomStream(asked).below(50)));
            under_way.push_back(asked++);
          }
        }
      }
      if (expected.empty()) expected = committed;
      ASSERT_EQ(committed, expected) << "arrivals " << arrivals;
    }
    EXPECT_FALSE(std::ranges::is_sorted(expected));
  }
}

/// Any window, any order of arrivals: commits come by number, each once, and no more than the window is in
/// flight.
TEST(CommitsByNumber, CommitsByNumberWithinTheWindowForAnyOrderOfArrivals) {
  RandomStream random(11);
  for (int round = 0; round < 200; ++round) {
    const std::size_t window = 1 + random.below(12);
    const std::size_t total = 1 + random.below(60);
    CommitsByNumber order(window);
    std::vector<trial::TrialNumber> under_way;
    trial::TrialNumber asked = 0;
    trial::TrialNumber expected = 0;
    while (expected < total) {
      for (; order.room() > 0 && asked < total; ++asked) {
        under_way.push_back(asked);
        order.asked(trial(asked));
      }
      ASSERT_LE(order.in_flight(), window);
      ASSERT_EQ(asked, expected + order.in_flight());
      ASSERT_FALSE(under_way.empty());
      const std::size_t pick = random.below(under_way.size());
      order.arrived(arrival(under_way[pick]));
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(pick));
      while (const auto next = order.next()) {
        ASSERT_EQ(next->committed->trial.number, expected);
        ASSERT_EQ(std::get<trial::Measurements>(next->committed->outcome).values.at(0),
                  static_cast<double>(expected));
        ++expected;
      }
    }
    ASSERT_TRUE(order.in_flight() == 0);
  }
}

}  // namespace
}  // namespace skyline::engine
