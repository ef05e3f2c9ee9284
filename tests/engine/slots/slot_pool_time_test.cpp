// How long trials may take, and how their time is counted.
#include "core/backoff.hpp"
#include "engine/fixtures/engine_rig.hpp"
#include "engine/fixtures/scripted_evaluator.hpp"
#include "engine/slots/slot_pool.hpp"
#include "store/publish/storage_thread.hpp"
#include "store/run_folder/running_trials.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::HasSubstr;
using trial::Failure;
using trial::FailureKind;

TEST(SlotPool, AsksForAnotherTryOfATrialThatTakesTooLongAndFailsTheSecond) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    while (!context.control().stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_LT(context.control().left_s().value(), 0);
    return Failure{FailureKind::kStopped, "stopped"};
  });
  EngineOptions engine;
  engine.trial_timeout_s = 0.05;
  SlotPool pool(pool_of(1, engine), evaluator, {});
  pool.submit(0, {trial_of(0), {}});
  pool.submit(0, {trial_of(0), {}, 1, true});
  const std::vector<Arrival> arrivals = collect(pool, 2);
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_TRUE(arrivals[0].again);
  EXPECT_FALSE(arrivals[1].again);
  EXPECT_EQ(arrivals[1].attempt, 1U);
  EXPECT_EQ(std::get<Failure>(arrivals[1].outcome).kind, FailureKind::kException);
  EXPECT_EQ(std::get<Failure>(arrivals[1].outcome).reason, "took longer than run.trial_timeout");
}

TEST(SlotPool, NamesATrialThatNeverLooksAndTakesItsResultAllTheSame) {
  const ScratchFolder folder;
  const store::RunPaths paths{folder.path()};
  std::filesystem::create_directories(paths.checkpoints());
  store::StorageThread storage;
  std::atomic<bool> stuck = true;
  ScriptedEvaluator evaluator([&](const trial::Trial&, trial::EvaluationContext&) {
    while (stuck) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return trial::Measurements{{1}};
  });
  EngineOptions engine;
  engine.trial_timeout_s = 0.05;
  SlotPoolOptions options = pool_of(1, engine);
  options.stuck_after_s = 0.05;
  SlotFiles files;
  files.running = std::make_shared<store::RunningTrials>(paths, 4, 1, "job", "");
  files.checkpoints = std::make_shared<CheckpointFolder>(RunFiles{paths, {}, storage}, std::nullopt, false);
  ::testing::internal::CaptureStderr();
  SlotPool pool(options, evaluator, std::move(files));
  EXPECT_FALSE(pool.stuck());
  trial::Trial trial = *trial_of(3);
  trial.proposal.architecture =
      std::make_shared<const space::Architecture>(test_space().build(test_space().genotype_at(3)));
  pool.submit(0, {std::make_shared<const trial::Trial>(trial), {}});
  while (!pool.stuck()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(pool.stuck(), trial::TrialName{3});
  EXPECT_TRUE(pool.take_arrivals().empty());
  EXPECT_TRUE(pool.take_arrivals().empty());
  while (!storage.idle()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(store::read_running_trials(paths).at(0).rows.at(0).overdue);
  stuck = false;
  const std::vector<Arrival> arrivals = collect(pool, 1);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_FALSE(arrivals[0].again);
  EXPECT_FALSE(pool.stuck());
  const std::string said = ::testing::internal::GetCapturedStderr();
  const std::string warning = "trial 3 in slot 0 takes longer than run.trial_timeout and does not stop";
  EXPECT_THAT(said, HasSubstr(warning));
  EXPECT_EQ(said.find(warning), said.rfind(warning)) << "it is said once";
}

/// What passes of a trial's time while a part of it waits, in seconds, and what passes of all time.
struct Passed {
  double of_trial_s = 0;
  double of_all_s = 0;
};

Passed passed_during(trial::EvaluationContext& context, const std::function<void()>& part) {
  const auto begun = std::chrono::steady_clock::now();
  const double before_s = context.control().left_s().value();
  part();
  const double of_trial_s = before_s - context.control().left_s().value();
  return {of_trial_s, seconds_since(begun)};
}

TEST(SlotPool, HoldsTheTimeOfATrialThatWaits) {
  Passed passed;
  ScriptedEvaluator evaluator([&](const trial::Trial&, trial::EvaluationContext& context) {
    passed = passed_during(context, [&] {
      const trial::TrialWait device(context);
      const trial::TrialWait licence(context, &trial::TrialTiming::wait_files_s);  // within the other
      const double held_s = context.control().left_s().value();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_EQ(context.control().left_s(), held_s);
      EXPECT_FALSE(context.control().stop_requested());
    });
    return trial::Measurements{{0}};
  });
  EngineOptions engine;
  engine.trial_timeout_s = 0.05;
  SlotPoolOptions options = pool_of(1, engine);
  SlotPool pool(options, evaluator, {});
  pool.submit(0, {trial_of(0), {}});
  const trial::TrialTiming timing = collect(pool, 1).at(0).timing;
  EXPECT_LE(passed.of_trial_s, passed.of_all_s - 0.1);
  EXPECT_GE(timing.wait_files_s, 0.1);
  EXPECT_LE(timing.wait_device_s, passed.of_all_s - 0.1);
}

TEST(SlotPool, HoldsTheTimeOfATrialThatWaitsForInheritedWeights) {
  Passed passed;
  ScriptedEvaluator evaluator([&](const trial::Trial&, trial::EvaluationContext& context) {
    passed = passed_during(context, [&] { context.weights().inherited(); });
    return trial::Measurements{{0}};
  });
  EngineOptions engine;
  engine.trial_timeout_s = 600;
  SlotPoolOptions options = pool_of(1, engine);
  SlotFiles files;
  files.inherited = [](auto&&...) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return nullptr;
  };
  SlotPool pool(options, evaluator, std::move(files));
  trial::Trial child = *trial_of(0);
  child.proposal.start = trial::Inherit{};
  pool.submit(0, {std::make_shared<const trial::Trial>(child), {}});
  EXPECT_EQ(collect(pool, 1).size(), 1U);
  EXPECT_LE(passed.of_trial_s, passed.of_all_s - 0.1);
}

TEST(SlotPool, CountsWhatIsNotAccountedForAsSetUp) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    context.timing().train_s = 0.01;
    context.timing().setup_s = 1e9;
    return trial::Measurements{{0}};
  });
  SlotPool pool(pool_of(2), evaluator, {});
  pool.submit(1, {trial_of(0), {}});
  const trial::TrialTiming timing = collect(pool, 1).at(0).timing;
  EXPECT_EQ(timing.rank, 4);
  EXPECT_EQ(timing.slot, 1);
  EXPECT_GE(timing.started_s, 0);
  EXPECT_EQ(timing.train_s, 0.01);
  EXPECT_GE(timing.setup_s, 0.0199);
  EXPECT_LT(timing.setup_s, 1e9);
}

TEST(SlotPool, CountsAllTimeAsTrainingIfTheEvaluatorAccountsForNone) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const trial::TrialWait wait(context);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return trial::Measurements{{0}};
  });
  SlotPool pool(pool_of(1), evaluator, {});
  pool.submit(0, {trial_of(0), {}});
  const trial::TrialTiming timing = collect(pool, 1).at(0).timing;
  EXPECT_GE(timing.train_s, 0.03);
  EXPECT_GE(timing.wait_device_s, 0.03);
  EXPECT_EQ(timing.setup_s, 0);
}

TEST(SlotPool, CountsWaitingForADeviceAsNeitherSetUpNorPartOfTheTrial) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    context.timing().setup_s = 0.001;
    context.timing().wait_device_s = 0.03;
    return trial::Measurements{{0}};
  });
  const SlotPoolOptions options = pool_of(1);
  SlotPool pool(options, evaluator, {});
  pool.submit(0, {trial_of(0), {}});
  const trial::TrialTiming timing = collect(pool, 1).at(0).timing;
  const std::chrono::duration<double> now = std::chrono::steady_clock::now() - options.run_started;
  EXPECT_GE(timing.started_s, 0.03);
  EXPECT_LE(timing.started_s + timing.setup_s, now.count());
}

TEST(SlotPool, CountsWithTheNextTrialHowLongStorageTookToAcceptTheFilesOfTheLast) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    context.weights().keep({{"w", {1}, {2.5F}}});
    return trial::Measurements{{0}};
  });
  const auto slow_sink = [](const trial::Trial&, const auto&, const auto&, const auto& written) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    written();
  };
  SlotPool pool(pool_of(1), evaluator, {slow_sink, {}, nullptr, nullptr});
  for (trial::TrialNumber number = 0; number < 2; ++number) pool.submit(0, {trial_of(number), {}});
  const auto arrivals = collect(pool, 2);
  EXPECT_EQ(arrivals.at(0).timing.wait_hand_in_s, 0);
  EXPECT_GE(arrivals.at(1).timing.wait_hand_in_s, 0.03);
  const trial::TrialTiming& first = arrivals.at(0).timing;
  EXPECT_GE(arrivals.at(1).timing.started_s, first.started_s + first.total_s() + 0.03);
}

}  // namespace
}  // namespace skyline::engine
