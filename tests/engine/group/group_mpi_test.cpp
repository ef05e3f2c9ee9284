#include "engine/fixtures/group_courses.hpp"
#include "engine/group/group_hub.hpp"
#include "support/first_ranks.hpp"
#include "support/mpi_test.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;
using trial::TrialGroup;

/// Groups over real ranks: their threads talk while the main thread uses the world.
class GroupMpiTest : public testing::MpiTest {
 protected:
  GroupMpiTest() : hub_(GroupHub::make(testing::environment(), true)) {}
  void TearDown() override {
    EXPECT_EQ(hub_->fault(), std::nullopt);
    hub_->close();
    MpiTest::TearDown();
  }

  /// The next group; the ranks that are not in it go on. The main thread polls meanwhile, as the engine's
  /// does.
  void run(GroupPlace place, const std::function<void(TrialGroup&)>& course) {
    place.sequence = ++sequence_;
    if (std::ranges::find(place.ranks, rank()) == place.ranks.end()) return;
    std::vector<std::thread> threads;
    auto views = hub_->join(place);
    for (auto& view : views) {
      threads.emplace_back([&course, view = std::move(view)]() mutable {
        course(*view);
        view.reset();
      });
    }
    for (auto& thread : threads) thread.join();
  }
  void meet() { comm::wait(*world().barrier()); }

 private:
  std::unique_ptr<GroupHub> hub_;
  std::uint64_t sequence_ = 0;
};

TEST_F(GroupMpiTest, MakesNoWaysBetweenRanksWhereNobodyFormsGroups) {
  const auto idle = GroupHub::make(testing::environment(), false);
  EXPECT_FALSE(idle->spans_ranks());
  idle->close();
}

TEST_F(GroupMpiTest, GivesTheBitsOfThePlainSumHoweverTheMembersAreSpread) {
  for (std::size_t members = 1; members <= 9; ++members) {
    for (const GroupPlace& spread : testing::spreads_of(members, size())) {
      SCOPED_TRACE(std::to_string(members) + " members on " + std::to_string(spread.ranks.size()) + " ranks");
      run(spread, [](TrialGroup& group) { testing::expect_right_results(group, 1000); });
    }
  }
}

TEST_F(GroupMpiTest, TellsAllMembersWhoGivesUpAndGoesOnWithTheNextGroup) {
  for (std::size_t members = 2; members <= 4; ++members) {
    for (const GroupPlace& spread : testing::spreads_of(members, size())) {
      for (std::size_t who = 0; who < members; ++who) {
        for (int phase = 0; phase < testing::kAbortPhases; ++phase) {
          SCOPED_TRACE("member " + std::to_string(who) + " of " + std::to_string(members) + " on " +
                       std::to_string(spread.ranks.size()) + " ranks, phase " + std::to_string(phase));
          run(spread, [&](TrialGroup& group) { testing::expect_told_of_abort(group, who, phase); });
        }
      }
      run(spread, [](TrialGroup& group) { testing::expect_right_results(group, 50); });
    }
  }
}

TEST_F(GroupMpiTest, ServesGroupsOfTwoWhileTheMainThreadsTalk) {
  std::thread groups([&] {
    for (int first = 0; first + 1 < size(); ++first) {
      run({0, 2, {first + 1, first}}, [](TrialGroup& group) { testing::expect_right_results(group, 7); });
    }
    run({0, static_cast<std::size_t>(size()), testing::first_ranks(size())},
        [](TrialGroup& group) { testing::expect_right_results(group, 8); });
  });
  for (int meeting = 0; meeting < 100; ++meeting) meet();
  groups.join();
}

TEST_F(GroupMpiTest, TellsEveryMemberWhereAllMembersRun) {
  trial::Place mine{.host = "node" + std::to_string(rank()), .processors = {rank(), 7}, .memory_bytes = 5};
  mine.devices = {"GPU-" + std::to_string(rank())};
  const auto hub = GroupHub::make(testing::environment(), true, mine, true);
  auto views = hub->join({1, static_cast<std::size_t>(size()), testing::first_ranks(size())});
  for (int other = 0; other < size(); ++other) {
    const trial::Place place = views.front()->place_of(static_cast<std::size_t>(other));
    EXPECT_EQ(place.host, "node" + std::to_string(other));
    EXPECT_THAT(place.processors, ElementsAre(other)) << "it is bound to the first of its rank";
    EXPECT_THAT(place.devices, ElementsAre("GPU-" + std::to_string(other)));
    EXPECT_EQ(place.memory_bytes, 5U);
    EXPECT_EQ(place.timeout_s, std::nullopt);
  }
  views.clear();
  hub->close();
}

TEST_F(GroupMpiTest, WaitsForASlowMemberAsLongAsItsRankShowsLife) {
  EXPECT_TRUE(testing::is_met_with_a_silence([&](std::chrono::seconds silence) {
    GroupHub hub(testing::environment().make_mailbox(), std::vector<trial::Place>(4), false, silence);
    auto views = hub.join({1, static_cast<std::size_t>(size()), testing::first_ranks(size())});
    std::atomic<bool> done{false};
    std::thread member([&] {
      std::array<double, 1> value{1};
      try {
        views.front()->sum(value);
        if (rank() == size() - 1) std::this_thread::sleep_for(silence + std::chrono::milliseconds(500));
        views.front()->sum(value);
        EXPECT_EQ(value[0], size() * size());
      } catch (const trial::GroupAborted&) {  // a fault
      }
      views.clear();
      done = true;
    });
    while (!done) {
      hub.send_heartbeat();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    member.join();
    hub.close();
    return on_all_ranks(!hub.fault());
  }));
}

TEST_F(GroupMpiTest, ClosesOverWhatAGivenUpTrialHasLeft) {
  run({0, static_cast<std::size_t>(size()), testing::first_ranks(size())}, [](TrialGroup& group) {
    std::vector<float> values(1'000'000, 1);
    try {
      const auto operation = group.all_reduce(values);
      operation->test();
      group.abort({trial::FailureKind::kDiverged, "the loss is NaN"});
    } catch (const trial::GroupAborted& aborted) {  // another was quicker
      EXPECT_EQ(aborted.failure().reason, "the loss is NaN");
    }
  });
}

}  // namespace
}  // namespace skyline::engine
