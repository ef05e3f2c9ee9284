#include "engine/dispatch/simulated_fleet.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

AskedTrial costed_trial(trial::TrialNumber number, std::uint64_t cost, std::uint32_t members = 1) {
  trial::Trial trial;
  trial.number = number;
  trial.cost = cost;
  trial.members = members;
  return std::make_shared<const trial::Trial>(trial);
}

/// A trial takes its cost.
SimulatedFleet fleet_of(std::size_t slots) {
  return {slots, [](const trial::Trial& trial) {
            return std::pair(static_cast<double>(trial.cost), trial::Outcome(trial::Measurements{{1}}));
          }};
}

/// Numbers in the order of their results, with the time of each.
std::vector<std::pair<trial::TrialNumber, double>> results_of(SimulatedFleet& fleet) {
  std::vector<std::pair<trial::TrialNumber, double>> results;
  while (!fleet.idle()) {
    for (const Arrival& arrival : fleet.poll()) results.emplace_back(arrival.trial.number, fleet.now_s());
    fleet.pause();
  }
  return results;
}

TEST(SimulatedFleet, TrainsAsManyTrialsAsItHasSlotsAndTellsTheirResultsWhenTheyEnd) {
  SimulatedFleet fleet = fleet_of(2);
  fleet.expect_more(true);
  fleet.submit(std::vector{costed_trial(0, 4), costed_trial(1, 1), costed_trial(2, 2)});
  using Results = std::vector<std::pair<trial::TrialNumber, double>>;
  EXPECT_EQ(results_of(fleet), (Results{{1, 1}, {2, 3}, {0, 4}}));
}

TEST(SimulatedFleet, CountsHowBusyItsSlotsWere) {
  SimulatedFleet fleet = fleet_of(2);
  fleet.expect_more(true);
  fleet.submit(std::vector{costed_trial(0, 2), costed_trial(1, 3), costed_trial(2, 5)});
  results_of(fleet);
  EXPECT_DOUBLE_EQ(fleet.use().wall_s, 7);
  EXPECT_DOUBLE_EQ(fleet.use().last_start_s, 2);
  EXPECT_DOUBLE_EQ(fleet.use().to_last_start(), 1);
  EXPECT_DOUBLE_EQ(fleet.use().in_all(), 10.0 / 14);
}

TEST(SimulatedFleet, GivesAGroupAsManySlotsAsItHasMembers) {
  SimulatedFleet fleet = fleet_of(4);
  fleet.submit(std::vector{costed_trial(0, 6, 4), costed_trial(1, 2)});
  results_of(fleet);
  EXPECT_DOUBLE_EQ(fleet.use().wall_s, 8);
  EXPECT_DOUBLE_EQ(fleet.use().busy_s, 4 * 6 + 2);
}

TEST(SimulatedFleet, WakesWhenItIsToldToIfNoTrialEndsBefore) {
  SimulatedFleet fleet = fleet_of(1);
  fleet.wake_at(3);
  fleet.pause();
  EXPECT_DOUBLE_EQ(fleet.now_s(), 3);
  fleet.pause();
  EXPECT_DOUBLE_EQ(fleet.now_s(), 3) << "there is nothing to wait for";
  fleet.submit(std::vector{costed_trial(0, 4)});
  for (const double wake_s : {5, 9}) {
    fleet.wake_at(wake_s);
    fleet.pause();
    EXPECT_DOUBLE_EQ(fleet.now_s(), std::min(wake_s, 3.0 + 4));
  }
}

TEST(SimulatedFleet, DropsAllOfItsTrialsWhenItStops) {
  SimulatedFleet fleet = fleet_of(1);
  fleet.submit(std::vector{costed_trial(0, 6), costed_trial(1, 2)});
  fleet.stop();
  EXPECT_TRUE(fleet.idle());
}

}  // namespace
}  // namespace skyline::engine
