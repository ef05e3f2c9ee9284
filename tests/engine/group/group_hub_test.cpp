#include "engine/group/group_hub.hpp"

#include "skyline/core/error.hpp"

#include "engine/fixtures/group_courses.hpp"
#include "support/first_ranks.hpp"
#include "support/local_groups.hpp"
#include "support/thread_mailboxes.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trial::GroupAborted;
using trial::TrialGroup;
using Course = std::function<void(TrialGroup&)>;

/// Gives each view to a thread of its own.
void run_members(std::vector<std::unique_ptr<TrialGroup>> views, const Course& course) {
  std::vector<std::thread> threads;
  for (auto& view : views) threads.emplace_back([&] { course(*view); });
  for (auto& thread : threads) thread.join();
}

/// Rank r is alone on node r, and has processors 10 r and 10 r + 1.
std::vector<trial::Place> places_of(int ranks) {
  std::vector<trial::Place> places;
  for (int rank = 0; rank < ranks; ++rank) {
    places.push_back({.host = "node" + std::to_string(rank), .processors = {10 * rank, 10 * rank + 1}});
  }
  return places;
}

/// The hubs of ranks that are threads of this process.
class Ranks {
 public:
  explicit Ranks(int ranks, std::chrono::milliseconds silence = 60s) {
    for (auto& mailbox : testing::make_thread_mailboxes(ranks)) {
      hubs_.push_back(std::make_unique<GroupHub>(std::move(mailbox), places_of(ranks), true, silence));
    }
  }
  GroupHub& hub(int rank) { return *hubs_[static_cast<std::size_t>(rank)]; }

  /// The next group of its ranks.
  void run(GroupPlace place, const Course& course) {
    place.sequence = ++sequence_;
    std::vector<std::thread> threads;
    for (const int rank : place.ranks) {
      threads.emplace_back([this, place, rank, &course] { run_members(hub(rank).join(place), course); });
    }
    for (auto& thread : threads) thread.join();
  }

 private:
  std::vector<std::unique_ptr<GroupHub>> hubs_;
  std::uint64_t sequence_ = 0;
};

/// Sends, and fails to receive.
class BrokenMailbox final : public comm::Mailbox {
 public:
  explicit BrokenMailbox(std::unique_ptr<comm::Mailbox> mailbox) : mailbox_(std::move(mailbox)) {}
  int rank() const override { return mailbox_->rank(); }
  int size() const override { return mailbox_->size(); }
  std::shared_ptr<comm::Buffer> acquire(std::size_t size) override { return mailbox_->acquire(size); }
  void send(std::shared_ptr<const comm::Buffer> buffer, int to) override {
    mailbox_->send(std::move(buffer), to);
  }
  std::optional<comm::Message> receive() override { throw InternalError("the network is down"); }
  std::size_t unsent_bytes() const override { return mailbox_->unsent_bytes(); }
  void close() override {}

 private:
  std::unique_ptr<comm::Mailbox> mailbox_;
};

TEST(GroupPlace, GivesEveryRankABlockOfMembers) {
  const GroupPlace place{0, 7, {3, 4, 5, 6}};
  EXPECT_EQ(place.block(), 2U);
  EXPECT_EQ(place.first_member(3), 6U);
  EXPECT_EQ(place.members_of(0), 2U);
  EXPECT_EQ(place.members_of(3), 1U);
  EXPECT_EQ(place.rank_of(5), 2U);
}

TEST(GroupHub, GivesTheBitsOfThePlainSumHoweverTheMembersAreSpread) {
  for (std::size_t members = 1; members <= 9; ++members) {
    for (const GroupPlace& spread : testing::spreads_of(members, 9)) {
      SCOPED_TRACE(std::to_string(members) + " members on " + std::to_string(spread.ranks.size()) + " ranks");
      Ranks ranks(static_cast<int>(spread.ranks.size()));
      ranks.run(spread, [](TrialGroup& group) { testing::expect_right_results(group, 1000); });
    }
  }
}

TEST(GroupHub, AgreesWithTheGroupOfThreads) {
  const auto oracle = testing::make_local_groups(5);
  Ranks ranks(3);
  ranks.run({0, 5, {0, 1, 2}}, [&](TrialGroup& group) {
    auto values = testing::values_of(1, group.member(), 5000);
    auto expected = values;
    group.all_reduce(values)->wait();
    oracle[group.member()]->all_reduce(expected)->wait();
    EXPECT_EQ(values, expected);
  });
}

TEST(GroupHub, TellsEveryMemberWhereAllMembersRun) {
  Ranks ranks(3);
  ranks.run({0, 3, {2, 1}}, [](TrialGroup& group) {
    std::vector<std::string> places;
    for (std::size_t member = 0; member < group.members(); ++member) {
      const trial::Place place = group.place_of(member);
      places.push_back(place.host + " " + ::testing::PrintToString(place.processors));
    }
    EXPECT_THAT(places, ElementsAre("node2 { 20 }", "node2 { 21 }", "node1 { 10 }"));
  });
}

TEST(GroupHub, NeedsNoMailboxForMembersOfOneRank) {
  GroupHub hub(nullptr, places_of(1), true, 60s);
  run_members(hub.join({1, 4, {0}}), [](TrialGroup& group) { testing::expect_right_results(group, 7); });
  EXPECT_EQ(
      testing::user_error_of([&] {
        hub.join({2, 4, {0, 1}});
      }),
      "a group of 2 ranks needs an MPI library that lets all threads communicate (MPI_THREAD_MULTIPLE); "
      "this one does not: keep groups on one rank");
}

TEST(GroupHub, TellsAllMembersWhoGivesUpAndGoesOnWithTheNextGroup) {
  for (const GroupPlace& spread :
       {GroupPlace{0, 2, {1, 0}}, {0, 3, {0, 1, 2}}, {0, 3, {0, 1}}, {0, 3, {0}}}) {
    Ranks ranks(static_cast<int>(spread.ranks.size()));
    for (std::size_t who = 0; who < spread.members; ++who) {
      for (int phase = 0; phase < testing::kAbortPhases; ++phase) {
        SCOPED_TRACE("member " + std::to_string(who) + " of " + std::to_string(spread.members) + " on " +
                     std::to_string(spread.ranks.size()) + " ranks, phase " + std::to_string(phase));
        ranks.run(spread, [&](TrialGroup& group) { testing::expect_told_of_abort(group, who, phase); });
        ranks.run(spread, [](TrialGroup& group) { testing::expect_right_results(group, 50); });
      }
    }
    for (const int rank : spread.ranks) EXPECT_EQ(ranks.hub(rank).fault(), std::nullopt);
  }
}

TEST(GroupHub, KeepsGroupsApartThatShareARank) {
  Ranks ranks(3);
  const std::vector<GroupPlace> groups{
      {1, 2, {0, 1}}, {2, 2, {1, 2}}, {3, 3, {2, 0, 1}}, {4, 2, {0, 2}}, {5, 2, {1, 0}}};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      for (const GroupPlace& place : groups) {
        if (std::ranges::find(place.ranks, rank) == place.ranks.end()) continue;
        run_members(ranks.hub(rank).join(place),
                    [&](TrialGroup& group) { testing::expect_right_results(group, 100 * place.sequence); });
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(GroupHub, NamesTheMemberThatIsSilent) {
  Ranks ranks(2, 2s);
  ranks.run({0, 2, {0, 1}}, [](TrialGroup& group) {
    std::array<double, 1> value{};
    group.sum(value);
    std::array<float, 1> loss{};
    if (group.member() == 1) {
      while (true) {
        try {
          group.check();
        } catch (const GroupAborted&) {
          return;
        }
        std::this_thread::sleep_for(1ms);
      }
    }
    try {
      group.all_reduce(loss)->wait();
      ADD_FAILURE() << "the sum lacks a member";
    } catch (const GroupAborted& aborted) {
      EXPECT_EQ(aborted.failure().reason, "member 1 (rank 1, node1) has been silent for 2 s in all_reduce 1");
    }
  });
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(ranks.hub(rank).fault().value_or(""), HasSubstr("member 1 (rank 1, node1)"));
  }
}

/// Threads that show the life of the first ranks, as their main threads do.
class MainThreads {
 public:
  MainThreads(Ranks& ranks, int count)
      : thread_([&ranks, count](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            for (int rank = 0; rank < count; ++rank) ranks.hub(rank).send_heartbeat();
            std::this_thread::sleep_for(1ms);
          }
        }) {}

 private:
  std::jthread thread_;
};

TEST(GroupHub, WaitsForAMemberAsLongAsItsRankShowsLife) {
  for (const int spread : {1, 3}) {
    EXPECT_TRUE(testing::is_met_with_a_silence([&](std::chrono::seconds silence) {
      Ranks ranks(spread, silence);
      const MainThreads main_threads(ranks, spread);
      ranks.run({0, 3, testing::first_ranks(spread)}, [&](TrialGroup& group) {
        std::array<double, 1> value{1};
        try {
          group.sum(value);
          if (group.member() == 1) std::this_thread::sleep_for(silence + 500ms);  // a long step
          group.sum(value);
          EXPECT_EQ(value[0], 9);
        } catch (const GroupAborted&) {  // a fault
        }
      });
      return std::ranges::none_of(testing::first_ranks(spread),
                                  [&](int rank) { return ranks.hub(rank).fault().has_value(); });
    })) << spread;
  }
}

TEST(GroupHub, BlamesTheSilentRankAndNoneThatOnlyComputes) {
  EXPECT_TRUE(testing::is_met_with_a_silence([](std::chrono::seconds silence) {
    Ranks ranks(3, silence);
    const MainThreads main_threads(ranks, 2);
    ranks.run({0, 3, {0, 1, 2}}, [&](TrialGroup& group) {
      std::array<double, 1> value{1};
      try {
        group.sum(value);
        while (group.member() > 0 && !ranks.hub(0).fault()) {
          group.check();
          std::this_thread::sleep_for(1ms);
        }
        group.sum(value);
        ADD_FAILURE() << "the sum lacks a member";
      } catch (const GroupAborted&) {
      }
    });
    return ranks.hub(0).fault() ==
           "member 2 (rank 2, node2) has been silent for " + std::to_string(silence.count()) + " s in sum 1";
  }));
}

TEST(GroupHub, WaitsForALeaderThatPreparesItselfAsLongAsItTakes) {
  constexpr auto kSilence = 2s;
  for (const int spread : {1, 2}) {
    Ranks ranks(spread, kSilence);
    ranks.run({0, 2, testing::first_ranks(spread)}, [&](TrialGroup& group) {
      std::array<std::byte, 1> begins{};
      group.broadcast(begins);
      if (group.member() == 0) std::this_thread::sleep_for(kSilence + 500ms);  // a wait for storage
      group.broadcast(begins);
      std::array<double, 1> value{1};
      group.sum(value);
      EXPECT_EQ(value[0], 2);
    });
    for (int rank = 0; rank < spread; ++rank) EXPECT_EQ(ranks.hub(rank).fault(), std::nullopt);
  }
}

TEST(GroupHub, TellsAllRanksOfAFaultBeforeTheirMembersHearOfIt) {
  for (const std::size_t who : {0U, 2U}) {
    Ranks ranks(2);
    ranks.run({0, 3, {0, 1}}, [&](TrialGroup& group) {
      const std::size_t rank = group.member() / 2;
      std::array<double, 1> value{};
      group.sum(value);
      if (group.member() == who) {
        group.abort({trial::FailureKind::kException, "GPU 0 has failed"}, true);
      } else {
        EXPECT_THROW(group.sum(value), GroupAborted);
      }
      EXPECT_EQ(ranks.hub(static_cast<int>(rank)).fault(), "GPU 0 has failed");
    });
  }
}

TEST(GroupHub, EndsTheTrialIfMessagesCannotBeReceived) {
  auto mailboxes = testing::make_thread_mailboxes(2);
  GroupHub hub(std::make_unique<BrokenMailbox>(std::move(mailboxes[0])), places_of(2), true, 60s);
  const auto views = hub.join({1, 2, {0, 1}});
  std::array<double, 1> value{};
  EXPECT_THROW(views[0]->sum(value), GroupAborted);
  EXPECT_THAT(hub.fault().value_or(""), HasSubstr("the network is down"));
}

TEST(GroupHub, FinishesAnOperationWhileResultsOfALaterOneLieUnread) {
  Ranks ranks(2);
  ranks.run({0, 2, {0, 1}}, [](TrialGroup& group) {
    std::vector<float> early(100'000, 1);
    std::vector<float> late(4'000'000, 1);  // parts of more bytes than are sent ahead
    const auto first = group.all_reduce(early);
    if (group.member() == 1) first->wait();
    group.all_gather(late)->wait();
    first->wait();
    EXPECT_EQ(early.back(), 2);
  });
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.hub(rank).fault(), std::nullopt);
}

TEST(GroupHub, ClosesWhenItsMembersHaveLeft) {
  Ranks ranks(1);
  auto views = ranks.hub(0).join({1, 2, {0}});
  std::atomic<bool> closed{false};
  std::thread closing([&] {
    ranks.hub(0).close();
    closed = true;
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(closed);
  views.clear();
  closing.join();
}

TEST(GroupHub, WaitsForRanksThatJoinLateAsLongAsItTakes) {
  constexpr auto kSilence = 1s;
  Ranks ranks(2, kSilence);
  const auto expect_sum = [](TrialGroup& group) {  // and no more, which could wait for a core for that long
    std::array<double, 1> value{1};
    group.sum(value);
    EXPECT_EQ(value[0], 2);
  };
  std::thread late([&] {
    std::this_thread::sleep_for(kSilence + 200ms);
    run_members(ranks.hub(1).join({1, 2, {0, 1}}), expect_sum);
  });
  run_members(ranks.hub(0).join({1, 2, {0, 1}}), expect_sum);
  late.join();
}

TEST(GroupHub, EndsTheTrialIfMembersCallDifferentOperations) {
  for (const int spread : {1, 2}) {
    Ranks ranks(spread);
    ranks.run({0, 2, testing::first_ranks(spread)}, [](TrialGroup& group) {
      std::array<double, 2> numbers{};
      try {
        group.sum(std::span(numbers).first(group.member() + 1));
        group.sum(numbers);
        ADD_FAILURE() << "the operations don't fit";
      } catch (const GroupAborted& aborted) {
        EXPECT_THAT(aborted.failure().reason, HasSubstr("sum of 8 bytes"));
        EXPECT_THAT(aborted.failure().reason, HasSubstr("sum of 16 bytes"));
      }
    });
    for (int rank = 0; rank < spread; ++rank) EXPECT_TRUE(ranks.hub(rank).fault());
  }
}

TEST(GroupHub, EndsTheTrialIfAMemberLeavesAnOperation) {
  Ranks ranks(2);
  ranks.run({0, 4, {0, 1}}, [](TrialGroup& group) {
    std::vector<float> values(100'000);
    if (group.member() == 3) {
      group.all_reduce(values);  // its handle goes at once
      EXPECT_THROW(group.check(), GroupAborted);
    } else {
      EXPECT_THROW(while (true) group.all_reduce(values)->wait(), GroupAborted);
    }
  });
}

TEST(GroupHub, RefusesGroupsOutOfOrder) {
  Ranks ranks(1);
  {
    const auto views = ranks.hub(0).join({5, 2, {0}});
    EXPECT_THROW(ranks.hub(0).join({6, 2, {0}}), InternalError);
  }
  EXPECT_THROW(ranks.hub(0).join({5, 2, {0}}), InternalError);
  EXPECT_EQ(ranks.hub(0).join({6, 3, {0}}).size(), 3U);
}

}  // namespace
}  // namespace skyline::engine
