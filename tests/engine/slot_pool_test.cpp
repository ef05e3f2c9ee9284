#include "engine/slots/slot_pool.hpp"

#include "skyline/core/error.hpp"

#include "engine/engine_rig.hpp"
#include "support/thread_mailboxes.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trial::Failure;
using trial::FailureKind;

/// Evaluates as it is told.
class ScriptedEvaluator final : public trial::Evaluator {
 public:
  using Script = std::function<trial::Outcome(const trial::Trial&, trial::EvaluationContext&)>;
  explicit ScriptedEvaluator(Script script) : script_(std::move(script)) {}
  /// The device fails with the next trial.
  void break_device(std::string reason) { fault_ = std::move(reason); }
  std::optional<std::string> fault() override { return fault_; }
  double predicted_cost(const trial::Trial&) const override { return 1; }
  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& context) override {
    return script_(trial, context);
  }

 private:
  Script script_;
  std::optional<std::string> fault_;
};

trial::Trial trial(trial::TrialNumber number) {
  trial::Trial result;
  result.number = number;
  return result;
}

SlotPoolOptions pool_of(std::size_t slots) {
  SlotPoolOptions options;
  options.rank = 4;
  options.slots = slots;
  options.metrics = 1;
  options.run_started = std::chrono::steady_clock::now();
  return options;
}

/// Waits for so many results, with a limit.
std::vector<Arrival> collect(SlotPool& pool, std::size_t count) {
  std::vector<Arrival> all;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (all.size() < count && std::chrono::steady_clock::now() < limit) {
    for (Arrival& arrival : pool.take()) all.push_back(std::move(arrival));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return all;
}

Failure failure_of(ScriptedEvaluator::Script script) {
  ScriptedEvaluator evaluator(std::move(script));
  SlotPool pool(pool_of(1), evaluator, {});
  pool.submit(0, {trial(0), {}});
  return std::get<Failure>(collect(pool, 1).at(0).outcome);
}

TEST(SlotPool, EndsTheRunRatherThanFailTheTrialsOfABrokenDevice) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext&) {
    return Failure{FailureKind::kException, "an illegal memory access was encountered"};
  });
  evaluator.break_device("GPU 0 has failed: an illegal memory access was encountered");
  SlotPool pool(pool_of(1), evaluator, {});
  pool.submit(0, {trial(0), {}});
  try {
    EXPECT_THAT(collect(pool, 1), ::testing::IsEmpty());
    FAIL() << "the run goes on";
  } catch (const FaultError& error) {
    EXPECT_THAT(error.what(), HasSubstr("GPU 0 has failed"));
  }
}

TEST(SlotPool, TrainsTheTrialsOfASlotInOrder) {
  ScriptedEvaluator evaluator([](const trial::Trial& t, trial::EvaluationContext&) {
    return trial::Measurements{{static_cast<double>(t.number)}};
  });
  SlotPool pool(pool_of(1), evaluator, {});
  for (trial::TrialNumber number = 0; number < 5; ++number) pool.submit(0, {trial(number), {}});
  const auto arrivals = collect(pool, 5);
  ASSERT_EQ(arrivals.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(arrivals[i].trial, trial::TrialName{i});
    EXPECT_THAT(std::get<trial::Measurements>(arrivals[i].outcome).values,
                ElementsAre(static_cast<double>(i)));
  }
}

TEST(SlotPool, TrainsOnAllSlotsAtOnce) {
  std::mutex mutex;
  std::condition_variable both_here;
  int here = 0;
  ScriptedEvaluator evaluator([&](const trial::Trial&, trial::EvaluationContext&) {
    std::unique_lock lock(mutex);
    ++here;
    both_here.notify_all();
    const bool met = both_here.wait_for(lock, std::chrono::seconds(10), [&] { return here == 2; });
    return trial::Measurements{{met ? 1.0 : 0.0}};
  });
  SlotPool pool(pool_of(2), evaluator, {});
  pool.submit(0, {trial(0), {}});
  pool.submit(1, {trial(1), {}});
  for (const Arrival& arrival : collect(pool, 2)) {
    EXPECT_EQ(std::get<trial::Measurements>(arrival.outcome).values.at(0), 1.0);
  }
}

TEST(SlotPool, TurnsAnExceptionIntoAFailureWithItsFirstLine) {
  const Failure failure = failure_of([](auto&&...) -> trial::Outcome {
    throw std::runtime_error("bad shape " + std::string(300, 'x') + "\nat line 3");
  });
  EXPECT_EQ(failure.kind, FailureKind::kException);
  EXPECT_EQ(failure.reason, "bad shape " + std::string(230, 'x'));
}

TEST(SlotPool, CallsBadAllocOutOfMemory) {
  const Failure failure = failure_of([](auto&&...) -> trial::Outcome { throw std::bad_alloc(); });
  EXPECT_EQ(failure.kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(failure.reason, "out of memory");
}

TEST(SlotPool, SurvivesAnExceptionThatIsNone) {
  EXPECT_EQ(failure_of([](auto&&...) -> trial::Outcome { throw 3; }).reason, "an exception of unknown type");
}

TEST(SlotPool, CutsTheReasonThatAnEvaluatorGives) {
  const Failure failure = failure_of([](auto&&...) -> trial::Outcome {
    return Failure{FailureKind::kDiverged, "loss is NaN\nsince step 3"};
  });
  EXPECT_EQ(failure.kind, FailureKind::kDiverged);
  EXPECT_EQ(failure.reason, "loss is NaN");
}

TEST(SlotPool, CountsWhatIsNotAccountedForAsSetUp) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    context.timing().train_s = 0.01;
    context.timing().setup_s = 99;
    return trial::Measurements{{0}};
  });
  SlotPool pool(pool_of(2), evaluator, {});
  pool.submit(1, {trial(0), {}});
  const trial::TrialTiming timing = collect(pool, 1).at(0).timing;
  EXPECT_EQ(timing.rank, 4);
  EXPECT_EQ(timing.slot, 1);
  EXPECT_GE(timing.started_s, 0);
  EXPECT_EQ(timing.train_s, 0.01);
  EXPECT_GE(timing.setup_s, 0.0199);
  EXPECT_LT(timing.setup_s, 10);
}

TEST(SlotPool, CountsWaitingForADeviceAsNeitherSetUpNorPartOfTheTrial) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    context.timing().wait_s = 0.03;
    return trial::Measurements{{0}};
  });
  const SlotPoolOptions options = pool_of(1);
  SlotPool pool(options, evaluator, {});
  pool.submit(0, {trial(0), {}});
  const trial::TrialTiming timing = collect(pool, 1).at(0).timing;
  const std::chrono::duration<double> now = std::chrono::steady_clock::now() - options.run_started;
  EXPECT_GE(timing.started_s, 0.03);
  EXPECT_LE(timing.started_s + timing.setup_s, now.count());
}

TEST(SlotPool, HandsAResultOnOnlyWhenItsWeightsAreWritten) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    EXPECT_TRUE(context.weights().wanted());
    context.weights().keep({{"w", {1}, {2.5F}}});
    return trial::Measurements{{0}};
  });
  std::mutex mutex;
  std::vector<std::function<void()>> waiting;
  {
    const auto sink = [&](const trial::Trial&, auto weights, std::function<void()> written) {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(weights.at(0).values.at(0), 2.5F);
      waiting.push_back(std::move(written));
    };
    SlotPool pool(pool_of(1), evaluator, {sink, {}, nullptr, nullptr});
    pool.submit(0, {trial(0), {}});
    pool.submit(0, {trial(1), {}});
    const auto both_trained = [&] {
      const std::lock_guard lock(mutex);
      return waiting.size() == 2;
    };
    while (!both_trained()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(pool.take().empty());
    waiting[0]();
    EXPECT_EQ(pool.take().at(0).trial, trial::TrialName{0});
  }
  waiting[1]();  // a late write finds the pool gone and does no harm
}

TEST(SlotPool, WritesNoWeightsOfAFailedTrial) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    context.weights().keep({{"w", {1}, {2.5F}}});
    return Failure{FailureKind::kDiverged, "loss is NaN"};
  });
  bool written = false;
  SlotPool pool(pool_of(1), evaluator, {[&](auto&&...) { written = true; }, {}, nullptr, nullptr});
  pool.submit(0, {trial(0), {}});
  EXPECT_EQ(collect(pool, 1).size(), 1U);
  EXPECT_FALSE(written);
}

TEST(SlotPool, AsksRunningTrialsToStopWhenItGoes) {
  std::atomic<bool> running{false};
  std::atomic<bool> stopped{false};
  ScriptedEvaluator evaluator([&](const trial::Trial&, trial::EvaluationContext& context) {
    running = true;
    while (!context.control().stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stopped = true;
    return Failure{FailureKind::kStopped, "stopped"};
  });
  {
    SlotPool pool(pool_of(1), evaluator, {});
    pool.submit(0, {trial(0), {}});
    while (!running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(stopped);
}

TEST(SlotPool, GivesBackEveryTrialAfterARequestToStop) {
  std::atomic<bool> running{false};
  ScriptedEvaluator evaluator([&](const trial::Trial&, trial::EvaluationContext& context) {
    running = true;
    while (!context.control().stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Failure{FailureKind::kStopped, "stopped"};
  });
  SlotPool pool(pool_of(1), evaluator, {});
  pool.submit(0, {trial(0), {}});
  pool.submit(0, {trial(1), {}});
  while (!running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  pool.request_stop();
  pool.submit(0, {trial(2), {}});
  const auto arrivals = collect(pool, 3);
  ASSERT_EQ(arrivals.size(), 3U);
  for (const Arrival& arrival : arrivals) EXPECT_TRUE(arrival.stopped());
  EXPECT_EQ(arrivals[2].timing.rank, 4);
}

TEST(SlotPool, TakesAStopThatNobodyAskedForAsABug) {
  ScriptedEvaluator evaluator([](auto&&...) { return Failure{FailureKind::kStopped, "tired"}; });
  SlotPool pool(pool_of(1), evaluator, {});
  pool.submit(0, {trial(0), {}});
  EXPECT_THROW(collect(pool, 1), InternalError);
}

TEST(SlotPool, PassesAnEvaluatorsBugOnToTheMainThread) {
  ScriptedEvaluator evaluator([](auto&&...) { return trial::Measurements{{1, 2, 3}}; });
  SlotPool pool(pool_of(1), evaluator, {});
  pool.submit(0, {trial(0), {}});
  EXPECT_THROW(collect(pool, 1), InternalError);
}

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
    Assignment assignment{trial(number), GroupPlace{.sequence = number + 1, .members = members}};
    assignment.trial.members = members;
    pool.submit(0, assignment);
  }

  GroupHub hub{nullptr, {"here"}, std::chrono::seconds(20)};
  ScriptedEvaluator evaluator;
  SlotPool pool;
};

trial::Measurements sum_over(trial::EvaluationContext& context, double value) {
  context.group()->sum(std::span(&value, 1));
  return {{value}};
}

TEST(SlotPool, TrainsAllMembersOfAGroupAtOnce) {
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
    EXPECT_FALSE(arrivals[i].helper);
    EXPECT_EQ(std::get<trial::Measurements>(arrivals[i].outcome).values.at(0),
              std::vector<double>({6, 15, 3})[i]);
  }
}

TEST(SlotPool, LetsMemberZeroAloneKeepWeights) {
  std::atomic<int> asked{0};
  std::atomic<int> written{0};
  const auto sink = [&](const trial::Trial&, auto weights, const std::function<void()>& done) {
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

TEST(SlotPool, EndsAGroupsTrialWithTheExceptionOfAnyMember) {
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

TEST(SlotPool, EndsAGroupsTrialWithTheExceptionOfAMemberThatHasAnOperationOpen) {
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

TEST(SlotPool, EndsTheRunIfTheDeviceOfAMemberFailsThatDoesNotLead) {
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
    hubs.push_back(std::make_unique<GroupHub>(
        std::move(mailboxes[index]), std::vector<std::string>{"node0", "node1"}, std::chrono::seconds(20)));
    SlotPoolOptions options = pool_of(1);
    options.rank = rank;
    options.groups = hubs.back().get();
    pools.push_back(std::make_unique<SlotPool>(options, rank == 0 ? leading : helping, SlotFiles{}));
    Assignment assignment{trial(0), GroupPlace{1, 2, 0, 2}};
    assignment.trial.members = 2;
    pools.back()->submit(0, assignment);
  }
  EXPECT_THROW(collect(*pools[0], 1), FaultError);
  EXPECT_THROW(collect(*pools[1], 1), FaultError);
}

TEST(SlotPool, EndsAGroupsTrialWithTheFailureThatOneMemberReturns) {
  GroupPool rig([](const trial::Trial&, trial::EvaluationContext& context) -> trial::Outcome {
    if (context.group()->member() == 1) return Failure{FailureKind::kDiverged, "loss is NaN"};
    return sum_over(context, 1);
  });
  rig.submit(0, 2);
  const auto failure = std::get<Failure>(collect(rig.pool, 1).at(0).outcome);
  EXPECT_EQ(failure.kind, FailureKind::kDiverged);
  EXPECT_EQ(failure.reason, "loss is NaN");
}

TEST(SlotPool, AsksMemberZeroAloneToStop) {
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

TEST(SlotPool, BeginsNoGroupsTrialAfterARequestToStop) {
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

TEST(SlotPool, TakesAFaultOfAGroupForNoFailureOfItsTrial) {
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
