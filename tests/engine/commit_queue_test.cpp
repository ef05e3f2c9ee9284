#include "engine/loop/commit_queue.hpp"

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

TEST(CommitQueue, TakesRecordedTrialsInTheirOrderAndNoRoomForThem) {
  CommitQueue queue(2);
  queue.asked(trial(0));
  queue.recorded({trial(1), trial::Measurements{{7}}, {}});
  queue.recorded({trial(2), trial::Measurements{{8}}, {}});
  EXPECT_EQ(queue.room(), 1U);
  EXPECT_FALSE(queue.next());
  queue.arrived(arrival(0));
  for (trial::TrialNumber number = 0; number < 3; ++number) EXPECT_EQ(queue.next()->trial.number, number);
  EXPECT_EQ(queue.room(), 2U);
}

TEST(CommitQueue, HoldsResultsBackUntilAllEarlierOnesAreHere) {
  CommitQueue queue(std::nullopt);
  for (trial::TrialNumber number = 0; number < 3; ++number) queue.asked(trial(number));
  queue.arrived(arrival(2));
  queue.arrived(arrival(1));
  EXPECT_FALSE(queue.next());
  queue.arrived(arrival(0));
  for (trial::TrialNumber number = 0; number < 3; ++number) {
    const auto committed = queue.next();
    ASSERT_TRUE(committed);
    EXPECT_EQ(committed->trial.number, number);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(CommitQueue, CarriesOutcomeAndTimingWithTheTrial) {
  CommitQueue queue(1);
  queue.asked(trial(0));
  Arrival failed{{0}, trial::Failure{trial::FailureKind::kDiverged, "loss is NaN"}, {}};
  failed.timing.train_s = 4;
  queue.arrived(failed);
  const auto committed = queue.next();
  ASSERT_TRUE(committed);
  EXPECT_EQ(std::get<trial::Failure>(committed->outcome).reason, "loss is NaN");
  EXPECT_EQ(committed->timing.train_s, 4);
}

TEST(CommitQueue, HasRoomForAGenerationWhenThereIsNoWindowAndNothingIsInFlight) {
  CommitQueue queue(std::nullopt);
  EXPECT_EQ(queue.room(), std::numeric_limits<std::size_t>::max());
  queue.asked(trial(0));
  queue.asked(trial(1));
  EXPECT_EQ(queue.room(), 0U);
  queue.arrived(arrival(0));
  ASSERT_TRUE(queue.next());
  EXPECT_EQ(queue.room(), 0U);
  queue.arrived(arrival(1));
  ASSERT_TRUE(queue.next());
  EXPECT_EQ(queue.room(), std::numeric_limits<std::size_t>::max());
}

TEST(CommitQueue, RefusesWhatCannotBe) {
  EXPECT_THROW(CommitQueue(0), InternalError);
  CommitQueue queue(1);
  EXPECT_THROW(queue.arrived(arrival(0)), InternalError);
  queue.asked(trial(0));
  EXPECT_THROW(queue.asked(trial(1)), InternalError);
  queue.arrived(arrival(0));
  EXPECT_THROW(queue.arrived(arrival(0)), InternalError);
  ASSERT_TRUE(queue.next());
  EXPECT_THROW(queue.arrived(arrival(0)), InternalError);
}

TEST(CommitQueue, CommitsInTheOrderOfAskingWhateverTheNumbers) {
  CommitQueue queue(std::nullopt);
  trial::Trial full = trial(4);
  full.proposal.trains = 4;
  queue.asked(trial(9));
  queue.asked(full);
  queue.asked(trial(4));
  EXPECT_THROW(queue.asked(trial(4)), InternalError);
  queue.arrived(arrival(4));
  queue.arrived({{4, true}, trial::Measurements{}, {}});
  queue.arrived(arrival(9));
  std::vector<std::string> order;
  while (const auto committed = queue.next()) {
    EXPECT_EQ(committed->position, order.size());
    order.push_back(to_text(committed->trial.name()));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"9", "4.final", "4"}));
}

/// Any window, any order of arrivals: commits come by number, each once, and no more than the window is in
/// flight.
TEST(CommitQueue, CommitsByNumberWithinTheWindowForAnyOrderOfArrivals) {
  RandomStream random(11);
  for (int round = 0; round < 200; ++round) {
    const std::size_t window = 1 + random.below(12);
    const std::size_t total = 1 + random.below(60);
    CommitQueue queue(window);
    std::vector<trial::TrialNumber> under_way;
    trial::TrialNumber expected = 0;
    while (expected < total) {
      while (queue.room() > 0 && queue.next_position() < total) {
        under_way.push_back(queue.next_position());
        queue.asked(trial(queue.next_position()));
      }
      ASSERT_LE(queue.in_flight(), window);
      ASSERT_EQ(queue.next_position(), expected + queue.in_flight());
      ASSERT_FALSE(under_way.empty());
      const std::size_t pick = random.below(under_way.size());
      queue.arrived(arrival(under_way[pick]));
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(pick));
      while (const auto committed = queue.next()) {
        ASSERT_EQ(committed->trial.number, expected);
        ASSERT_EQ(std::get<trial::Measurements>(committed->outcome).values.at(0),
                  static_cast<double>(expected));
        ++expected;
      }
    }
    ASSERT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace skyline::engine
