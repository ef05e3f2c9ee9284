#include "engine/loop/commit_order.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

trial::Trial trial(trial::TrialNumber number) {
  trial::Trial result;
  result.number = number;
  return result;
}

Arrival arrival(trial::TrialNumber number) {
  return {{number}, trial::Measurements{{static_cast<double>(number)}}, {}};
}

TEST(CommitsByNumber, TakesRecordedTrialsInTheirOrderAndNoRoomForThem) {
  CommitsByNumber order(2);
  order.asked(trial(0));
  order.recorded({trial(1), trial::Measurements{{7}}, {}});
  order.recorded({trial(2), trial::Measurements{{8}}, {}});
  EXPECT_EQ(order.room(), 1U);
  EXPECT_FALSE(order.next());
  order.arrived(arrival(0));
  for (trial::TrialNumber number = 0; number < 3; ++number) {
    const auto next = order.next();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->trial->trial.number, number);
    EXPECT_EQ(next->replayed, number > 0);
  }
  EXPECT_EQ(order.room(), 2U);
}

TEST(CommitsByNumber, HoldsResultsBackUntilAllEarlierOnesAreHere) {
  CommitsByNumber order(std::nullopt);
  for (trial::TrialNumber number = 0; number < 3; ++number) order.asked(trial(number));
  order.arrived(arrival(2));
  order.arrived(arrival(1));
  EXPECT_FALSE(order.next());
  order.arrived(arrival(0));
  for (trial::TrialNumber number = 0; number < 3; ++number) {
    const auto next = order.next();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->trial->trial.number, number);
  }
  EXPECT_TRUE(order.in_flight() == 0);
}

TEST(CommitsByNumber, CarriesOutcomeAndTimingWithTheTrial) {
  CommitsByNumber order(1);
  order.asked(trial(0));
  Arrival failed{{0}, trial::Failure{trial::FailureKind::kDiverged, "loss is NaN"}, {}};
  failed.timing.train_s = 4;
  order.arrived(failed);
  const auto next = order.next();
  ASSERT_TRUE(next);
  EXPECT_EQ(std::get<trial::Failure>(next->trial->outcome).reason, "loss is NaN");
  EXPECT_EQ(next->trial->timing.train_s, 4);
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
    EXPECT_EQ(next->trial->position, names.size());
    names.push_back(to_text(next->trial->trial.name()));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"9", "4.final", "4"}));
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
        ASSERT_EQ(next->trial->trial.number, expected);
        ASSERT_EQ(std::get<trial::Measurements>(next->trial->outcome).values.at(0),
                  static_cast<double>(expected));
        ++expected;
      }
    }
    ASSERT_TRUE(order.in_flight() == 0);
  }
}

}  // namespace
}  // namespace skyline::engine
