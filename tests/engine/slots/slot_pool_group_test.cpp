#include "skyline/core/error.hpp"

#include "engine/fixtures/scripted_evaluator.hpp"
#include "engine/group/group_hub.hpp"
#include "engine/slots/slot_pool.hpp"
#include "support/thread_mailboxes.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using trial::Failure;
using trial::FailureKind;

/// A pool for groups of this rank alone, which is rank 0.
struct GroupPool {
  GroupPool(ScriptedEvaluator::Script script, SlotFiles files = {})
      : evaluator(std::move(script)), pool(options(), evaluator, std::move(files)) {}

  SlotPoolOptions options() {
    SlotPoolOptions options = pool_of(1);
    options.rank = 0;
    options.groups = &hub;
    return options;
  }
  void submit(trial::TrialNumber number, std::uint32_t members) {
    pool.submit(0, {trial_of(number, members), GroupPlace{.sequence = number + 1, .members = members}});
  }

  GroupHub hub{nullptr, {{.host = "here"}}, false, std::chrono::minutes(1)};
  ScriptedEvaluator evaluator;
  SlotPool pool;
};

trial::Measurements sum_over(trial::EvaluationContext& context, double value) {
  context.group()->sum(std::span(&value, 1));
  return {{value}};
}

TEST(SlotPoolGroup, KeepsOnlyTheTimeOfAGroupThatIsGivenUp) {
  std::atomic<bool> begun = false;
  GroupPool rig([&](const trial::Trial& trial, trial::EvaluationContext& context) -> trial::Outcome {
    begun = true;
    while (trial.number == 0) {
      context.group()->check();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return sum_over(context, 1);
  });
  rig.pool.give_up(3);  // sequence number of trial 2, before it comes
  for (trial::TrialNumber number = 0; number < 3; ++number) rig.submit(number, 2);
  while (!begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  rig.pool.give_up(1);
  const std::vector<Arrival> arrivals = collect(rig.pool, 3);
  ASSERT_EQ(arrivals.size(), 3U);
  EXPECT_TRUE(arrivals[0].follower);
  EXPECT_FALSE(arrivals[1].follower);
  EXPECT_TRUE(arrivals[2].follower);
}

TEST(SlotPoolGroup, TrainsAllMembersOfAGroupAtOnce) {
  GroupPool rig([](const trial::Trial& t, trial::EvaluationContext& context) {
    EXPECT_EQ(context.group()->members(), t.members);
    return sum_over(context, 1 + static_cast<double>(context.group()->member()));
  });
  rig.submit(0, 3);
  rig.submit(1, 5);
  rig.submit(2, 2);
  const auto arrivals = collect(rig.pool, 3);
  ASSERT_EQ(arrivals.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(arrivals[i].follower);
    EXPECT_EQ(std::get<trial::Measurements>(arrivals[i].outcome).values.at(0),
              std::vector<double>({6, 15, 3})[i]);
  }
}

TEST(SlotPoolGroup, LetsMemberZeroAloneKeepWeights) {
  std::atomic<int> asked{0};
  std::atomic<int> written{0};
  const auto sink = [&](const trial::Trial&, auto weights, const auto&, const std::function<void()>& done) {
    EXPECT_EQ(weights.at(0).values.at(0), 0);
    ++written;
    done();
  };
  GroupPool rig(
      [&](const trial::Trial&, trial::EvaluationContext& context) {
        const auto member = static_cast<float>(context.group()->member());
        if (context.weights().wanted()) ++asked;
        context.weights().keep({{"w", {1}, {member}}});
        return sum_over(context, 1);
      },
      {sink, {}, nullptr, nullptr});
  rig.submit(0, 4);
  EXPECT_EQ(collect(rig.pool, 1).size(), 1U);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(written, 1);
}

TEST(SlotPoolGroup, EndsAGroupsTrialWithTheExceptionOfAnyMember) {
  for (const std::size_t thrower : {0U, 1U, 2U}) {
    GroupPool rig([thrower](const trial::Trial&, trial::EvaluationContext& context) {
      if (context.group()->member() == thrower) throw std::runtime_error("bad shape\nat line 3");
      return sum_over(context, 1);
    });
    rig.submit(0, 3);
    const auto arrivals = collect(rig.pool, 1);
    ASSERT_EQ(arrivals.size(), 1U);
    const auto& failure = std::get<Failure>(arrivals[0].outcome);
    EXPECT_EQ(failure.kind, FailureKind::kException);
    EXPECT_EQ(failure.reason, "bad shape");
  }
}

TEST(SlotPoolGroup, EndsAGroupsTrialWithTheExceptionOfAMemberThatHasAnOperationOpen) {
  std::atomic<bool> has_left{false};
  GroupPool rig([&](const trial::Trial&, trial::EvaluationContext& context) -> trial::Outcome {
    std::vector<float> values(100, 1);
    if (context.group()->member() == 1) {
      const std::shared_ptr<void> last(nullptr, [&](void*) { has_left = true; });
      const auto operation = context.group()->all_reduce(values);
      throw std::runtime_error("bad shape");
    }
    while (!has_left) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    context.group()->all_reduce(values)->wait();
    return trial::Measurements{{0}};
  });
  rig.submit(0, 3);
  EXPECT_EQ(std::get<Failure>(collect(rig.pool, 1).at(0).outcome).reason, "bad shape");
}

TEST(SlotPoolGroup, EndsTheRunIfTheDeviceOfAMemberFailsThatDoesNotLead) {
  auto mailboxes = testing::make_thread_mailboxes(2);
  ScriptedEvaluator leading([](const trial::Trial&, trial::EvaluationContext& context) {
    for (;;) sum_over(context, 1);
    return trial::Outcome{};
  });
  ScriptedEvaluator helping([](auto&&...) {
    return Failure{FailureKind::kException, "an illegal memory access was encountered"};
  });
  helping.break_device("GPU 0 has failed");
  std::vector<std::unique_ptr<GroupHub>> hubs;
  std::vector<std::unique_ptr<SlotPool>> pools;
  for (int rank = 0; rank < 2; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    hubs.push_back(std::make_unique<GroupHub>(std::move(mailboxes[index]), std::vector<trial::Place>(2),
                                              false, std::chrono::minutes(1)));
    SlotPoolOptions options = pool_of(1);
    options.rank = rank;
    options.groups = hubs.back().get();
    pools.push_back(std::make_unique<SlotPool>(options, rank == 0 ? leading : helping, SlotFiles{}));
    pools.back()->submit(0, {trial_of(0, 2), GroupPlace{1, 2, {0, 1}}});
  }
  EXPECT_THROW(collect(*pools[0], 1), FaultError);
  EXPECT_THROW(collect(*pools[1], 1), FaultError);
}

TEST(SlotPoolGroup, EndsAGroupsTrialWithTheFailureThatOneMemberReturns) {
  GroupPool rig([](const trial::Trial&, trial::EvaluationContext& context) -> trial::Outcome {
    if (context.group()->member() == 1) return Failure{FailureKind::kDiverged, "loss is NaN"};
    return sum_over(context, 1);
  });
  rig.submit(0, 2);
  const auto failure = std::get<Failure>(collect(rig.pool, 1).at(0).outcome);
  EXPECT_EQ(failure.kind, FailureKind::kDiverged);
  EXPECT_EQ(failure.reason, "loss is NaN");
}

TEST(SlotPoolGroup, AsksMemberZeroAloneToStop) {
  std::atomic<bool> running{false};
  std::atomic<int> told{0};
  GroupPool rig([&](const trial::Trial&, trial::EvaluationContext& context) {
    for (double stop = 0; stop == 0;) {
      running = true;
      if (context.control().stop_requested()) {
        EXPECT_EQ(context.group()->member(), 0U);
        ++told;
        stop = 1;
      }
      context.group()->sum(std::span(&stop, 1));
      if (stop > 0) break;
    }
    return Failure{FailureKind::kStopped, "stopped"};
  });
  rig.submit(0, 3);
  while (!running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  rig.pool.request_stop();
  EXPECT_TRUE(collect(rig.pool, 1).at(0).stopped());
  EXPECT_EQ(told, 1);
}

TEST(SlotPoolGroup, HoldsTheTimeOfMembersThatWaitForOthersAndNotThatOfTheRank) {
  std::atomic<bool> stuck{true};
  GroupPool rig([&](const trial::Trial&, trial::EvaluationContext& context) {
    while (context.group()->member() == 1 && stuck) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return sum_over(context, 1);
  });
  EngineOptions engine;
  engine.trial_timeout_s = 0.1;
  SlotPoolOptions options = pool_of(1, engine);
  options.groups = &rig.hub;
  options.stuck_after_s = 0.1;
  SlotPool pool(options, rig.evaluator, {});
  pool.submit(0, {trial_of(7, 2), GroupPlace{.sequence = 1, .members = 2}});
  while (!pool.stuck()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(pool.stuck(), trial::TrialName{7});
  stuck = false;
  EXPECT_EQ(std::get<trial::Measurements>(collect(pool, 1).at(0).outcome).values.at(0), 2);
}

/// The trial that rank 1 takes for stuck: its member of trial 0 goes on slowly, that of trial 1 not at all.
/// Nothing if rank 0 takes one for stuck. The times are so many times longer than usual.
std::optional<trial::TrialName> found_stuck(int times) {
  auto mailboxes = testing::make_thread_mailboxes(2);
  std::atomic<bool> stuck{true};
  ScriptedEvaluator evaluator([&](const trial::Trial& trial, trial::EvaluationContext& context) {
    const bool follows = context.group()->member() == 1;
    for (int step = 0; follows && step < 10; ++step) {
      std::this_thread::sleep_for(times * std::chrono::milliseconds(300));
      context.group()->check();
      sum_over(context, 1);
    }
    for (int step = 0; !follows && step < 10; ++step) sum_over(context, 1);
    while (follows && trial.number == 1 && stuck) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return sum_over(context, 1);
  });
  EngineOptions engine;
  engine.trial_timeout_s = 0.3 * times;
  std::vector<std::unique_ptr<GroupHub>> hubs;
  std::vector<std::unique_ptr<SlotPool>> pools;
  for (int rank = 0; rank < 2; ++rank) {
    hubs.push_back(std::make_unique<GroupHub>(std::move(mailboxes[static_cast<std::size_t>(rank)]),
                                              std::vector<trial::Place>(2), false, std::chrono::minutes(1)));
    SlotPoolOptions options = pool_of(1, engine);
    options.rank = rank;
    options.groups = hubs.back().get();
    options.stuck_after_s = 2 * times;  // two thirds of the time that ten steps take
    pools.push_back(std::make_unique<SlotPool>(options, evaluator, SlotFiles{}));
    for (trial::TrialNumber number = 0; number < 2; ++number) {
      pools.back()->submit(0, {trial_of(number, 2), GroupPlace{number + 1, 2, {0, 1}}});
    }
  }
  while (!pools[0]->stuck() && !pools[1]->stuck()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::optional<trial::TrialName> found = pools[0]->stuck() ? std::nullopt : pools[1]->stuck();
  stuck = false;
  for (const auto& pool : pools) EXPECT_EQ(collect(*pool, 2).size(), 2U);
  return found;
}

TEST(SlotPoolGroup, FindsARankStuckWhoseMemberDoesNotLeadAndNeverOneThatGoesOnSlowly) {
  // A step may have to wait for its core.
  std::optional<trial::TrialName> found;
  for (const int times : {1, 2, 6}) {
    found = found_stuck(times);
    if (found == trial::TrialName{1}) break;
  }
  EXPECT_EQ(found, trial::TrialName{1});
}

TEST(SlotPoolGroup, BeginsNoGroupsTrialAfterARequestToStop) {
  std::atomic<int> begun{0};
  GroupPool rig([&](const trial::Trial&, trial::EvaluationContext&) {
    ++begun;
    return trial::Measurements{{0}};
  });
  rig.pool.request_stop();
  rig.submit(0, 2);
  EXPECT_TRUE(collect(rig.pool, 1).at(0).stopped());
  EXPECT_EQ(begun, 0);
}

TEST(SlotPoolGroup, TakesAFaultOfAGroupForNoFailureOfItsTrial) {
  GroupPool rig([](const trial::Trial&, trial::EvaluationContext& context) -> trial::Outcome {
    if (context.group()->member() == 0) return sum_over(context, 1);
    std::byte other{};
    context.group()->broadcast(std::span(&other, 1));
    return Failure{FailureKind::kException, "not reached"};
  });
  rig.submit(0, 2);
  EXPECT_THROW(collect(rig.pool, 1), FaultError);
}

}  // namespace
}  // namespace skyline::engine
