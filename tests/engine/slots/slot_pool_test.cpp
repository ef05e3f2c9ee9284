#include "engine/slots/slot_pool.hpp"

#include "skyline/core/error.hpp"

#include "core/system/process.hpp"
#include "engine/fixtures/engine_rig.hpp"
#include "engine/fixtures/scripted_evaluator.hpp"
#include "trial/course_text.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trial::Failure;
using trial::FailureKind;

Failure failure_of(ScriptedEvaluator::Script script) {
  ScriptedEvaluator evaluator(std::move(script));
  SlotPool pool(pool_of(1), evaluator, {});
  pool.submit(0, {trial_of(0), {}});
  return std::get<Failure>(collect(pool, 1).at(0).outcome);
}

TEST(SlotPool, EndsTheRunRatherThanFailTheTrialsOfABrokenDevice) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext&) {
    return Failure{FailureKind::kException, "an illegal memory access was encountered"};
  });
  evaluator.break_device("GPU 0 has failed: an illegal memory access was encountered");
  SlotPool pool(pool_of(1), evaluator, {});
  pool.submit(0, {trial_of(0), {}});
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
  for (trial::TrialNumber number = 0; number < 5; ++number) pool.submit(0, {trial_of(number), {}});
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
    const bool met = both_here.wait_for(lock, std::chrono::minutes(1), [&] { return here == 2; });
    return trial::Measurements{{met ? 1.0 : 0.0}};
  });
  SlotPool pool(pool_of(2), evaluator, {});
  pool.submit(0, {trial_of(0), {}});
  pool.submit(1, {trial_of(1), {}});
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

TEST(SlotPool, FailsATrialWithAValueThatItsMetricCannotHave) {
  const auto outcome_of = [](const std::vector<double>& values) {
    ScriptedEvaluator evaluator([&](auto&&...) { return trial::Measurements{values}; });
    SlotPoolOptions options = pool_of(1);
    options.metrics = {{.name = "share", .range = {0, 1}}, {.name = "seen", .range = {.low = 2}}};
    options.needed = {"share"};
    SlotPool pool(options, evaluator, {});
    pool.submit(0, {trial_of(0), {}});
    const Arrival arrival = collect(pool, 1).at(0);
    EXPECT_FALSE(arrival.again) << "it would come to the same";
    const auto* failure = std::get_if<Failure>(&arrival.outcome);
    return failure == nullptr ? "ok" : failure->reason;
  };
  const double nan = std::nan("");
  EXPECT_EQ(outcome_of({1, 2}), "ok");
  EXPECT_EQ(outcome_of({0.5, nan}), "ok") << "nothing needs it";
  EXPECT_EQ(outcome_of({97.5, 2}), "`share` is 97.5: expected a number from 0 to 1");
  EXPECT_EQ(outcome_of({0.5, -3}), "`seen` is -3: expected a number of at least 2");
  EXPECT_EQ(outcome_of({nan, 2}), "`share` is NaN: expected a number from 0 to 1");
}

TEST(SlotPool, AsksForAnotherTryAfterAFaultThatMayPassAndKeepsNoResultOfIt) {
  ScriptedEvaluator evaluator([](const trial::Trial& t, trial::EvaluationContext&) -> trial::Outcome {
    if (t.number == 0) throw FaultError("cannot read the data");
    if (t.number == 1) throw std::bad_alloc();
    if (t.number == 2) return Failure{FailureKind::kProgram, "exit code 1"};
    return Failure{FailureKind::kDiverged, "the loss is NaN"};
  });
  SlotPool pool(pool_of(1), evaluator, {});
  for (trial::TrialNumber number = 0; number < 4; ++number) {
    pool.submit(0, {trial_of(number), {}});
    pool.submit(0, {trial_of(number), {}, 1, true});
  }
  std::vector<bool> again;
  for (const Arrival& arrival : collect(pool, 8)) again.push_back(arrival.again);
  EXPECT_THAT(again, ElementsAre(true, false, true, false, false, false, false, false));
}

TEST(SlotPool, AsksForAnotherTryAsOftenAsTheStorageOfAHostFailsATrial) {
  ScriptedEvaluator evaluator([](const trial::Trial& t, trial::EvaluationContext&) -> trial::Outcome {
    return Failure{t.number == 0 ? FailureKind::kStorage : FailureKind::kFilledStorage, "no space"};
  });
  SlotPool pool(pool_of(1), evaluator, {});
  for (trial::TrialNumber number = 0; number < 2; ++number) {
    for (std::uint32_t attempt = 0; attempt < 3; ++attempt)
      pool.submit(0, {trial_of(number), {}, attempt, attempt});
  }
  for (const Arrival& arrival : collect(pool, 6)) EXPECT_TRUE(arrival.again && !arrival.stopped());
}

TEST(SlotPool, LeavesItToRankZeroWhetherAFailureInDoubtCounts) {
  ScriptedEvaluator evaluator([](const trial::Trial& t, trial::EvaluationContext&) -> trial::Outcome {
    if (t.number == 0) return Failure{FailureKind::kProgram, "exit code 1"};
    if (t.number == 1) throw FaultError("cannot read the data");
    if (t.number == 2) return Failure{FailureKind::kDiverged, "the loss is NaN"};
    return trial::Measurements{{1}};
  });
  SlotPool pool(pool_of(1), evaluator, {});
  for (trial::TrialNumber number = 0; number < 4; ++number) {
    pool.submit(0, {.trial = trial_of(number), .group = {}, .in_doubt = true});
  }
  std::vector<bool> in_doubt;
  for (const Arrival& arrival : collect(pool, 4)) in_doubt.push_back(arrival.in_doubt);
  EXPECT_THAT(in_doubt, ElementsAre(true, false, false, false));
}

TEST(SlotPool, TellsATrialWhereItsSlotRunsAndHowLongItMayTake) {
  const std::vector<int> allowed = allowed_processors();
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    const trial::Place place = context.place();
    EXPECT_EQ(place.host, "node7");
    EXPECT_EQ(place.memory_bytes, 5U);
    EXPECT_EQ(place.timeout_s, 60);
    EXPECT_THAT(allowed_processors(), ::testing::ElementsAreArray(place.processors));
    return trial::Measurements{{static_cast<double>(place.processors.at(0))}};
  });
  SlotPoolOptions options = pool_of(2);
  options.place = {.host = "node7", .processors = {allowed.front(), allowed.back()}};
  options.place.memory_bytes = 5;
  options.place.timeout_s = 60;
  options.binds = true;
  SlotPool pool(options, evaluator, {});
  for (std::size_t slot = 0; slot < 2; ++slot) pool.submit(slot, {trial_of(slot), {}});
  for (const Arrival& arrival : collect(pool, 2)) {
    EXPECT_EQ(std::get<trial::Measurements>(arrival.outcome).values.at(0),
              arrival.timing.slot == 0 ? allowed.front() : allowed.back());
  }
}

TEST(SlotPool, KeepsSomeHundredPointsOfACourseAndAllThatWasMeasured) {
  ScriptedEvaluator evaluator([](const trial::Trial& t, trial::EvaluationContext& context) -> trial::Outcome {
    for (std::int64_t step = 1; step <= 1000; ++step) {
      trial::CurvePoint point{step, {{"reward", static_cast<double>(step)}}};
      if (step == 513) point.values.push_back({"score", 3});
      context.report(std::move(point));
    }
    if (t.number == 1) return Failure{FailureKind::kDiverged, "the loss is NaN"};
    return trial::Measurements{{0}};
  });
  std::vector<std::vector<trial::CurvePoint>> courses;
  SlotFiles files;
  files.courses = [&](const store::TrainingKey&, const std::vector<trial::CurvePoint>& course,
                      const std::function<void()>& written) {
    courses.push_back(course);
    written();
  };
  SlotPool pool(pool_of(1), evaluator, std::move(files));
  for (trial::TrialNumber number = 0; number < 2; ++number) pool.submit(0, {trial_of(number), {}});
  EXPECT_EQ(collect(pool, 2).size(), 2U);
  ASSERT_EQ(courses.size(), 2U) << "of a failed trial, too";
  for (const std::vector<trial::CurvePoint>& course : courses) {
    EXPECT_GE(course.size(), 100U);
    EXPECT_LT(course.size(), 200U);
    EXPECT_EQ(course.back().step, 1000);
    std::size_t scores = 0;
    for (const trial::CurvePoint& point : course) {
      EXPECT_EQ(point.values.at(0).value, point.step);
      if (point.values.size() < 2) continue;
      ++scores;
      EXPECT_EQ(point.values[1].name, "score");
      EXPECT_NEAR(static_cast<double>(point.step), 513, 16);
    }
    EXPECT_EQ(scores, 1U);
  }
}

TEST(SlotPool, HandsATrialInWhenItsCourseIsInItsFile) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    context.report({7, {{"train_loss", 0.75}, {"accuracy", 3}}});
    context.report({7, {{"train_loss", 0.5}}});
    return trial::Measurements{{0}};
  });
  std::atomic<bool> is_written = false;
  SlotFiles files;
  double started_s = 0;
  files.courses = [&](const store::TrainingKey& training, const std::vector<trial::CurvePoint>& course,
                      const std::function<void()>& written) {
    EXPECT_EQ(training.trial, trial::TrialName{3});
    started_s = training.started_s;
    EXPECT_EQ(course.size(), 1U) << "points of one step are joined";
    EXPECT_EQ(course.at(0).step, 7);
    EXPECT_EQ(trial::to_text(course.at(0)), "step 7: train_loss=0.5 accuracy=3");
    is_written = true;
    written();
  };
  SlotPool pool(pool_of(1), evaluator, std::move(files));
  pool.submit(0, {trial_of(3), {}});
  EXPECT_EQ(collect(pool, 1).at(0).timing.started_s, started_s);
  EXPECT_TRUE(is_written);
}

TEST(SlotPool, HandsAResultOnOnlyWhenItsWeightsAreWritten) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    EXPECT_TRUE(context.weights().wanted());
    context.weights().keep_answers("{}");
    context.weights().keep({{"w", {1}, {2.5F}}});
    return trial::Measurements{{0}};
  });
  std::mutex mutex;
  std::vector<std::function<void()>> waiting;
  {
    const auto sink = [&](const trial::Trial&, auto weights, const std::string& answers,
                          std::function<void()> written) {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(answers, "{}");
      EXPECT_EQ(weights.at(0).values.at(0), 2.5F);
      waiting.push_back(std::move(written));
    };
    SlotPool pool(pool_of(1), evaluator, {sink, {}, nullptr, nullptr});
    pool.submit(0, {trial_of(0), {}});
    pool.submit(0, {trial_of(1), {}});
    const auto both_trained = [&] {
      const std::lock_guard lock(mutex);
      return waiting.size() == 2;
    };
    while (!both_trained()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(pool.take_arrivals().empty());
    const std::vector<TrainedPart> parts = pool.take_trained();
    ASSERT_EQ(parts.size(), 2U) << "the slot is free";
    EXPECT_EQ(parts[1].trial, trial::TrialName{1});
    waiting[0]();
    EXPECT_EQ(pool.take_arrivals().at(0).trial, trial::TrialName{0});
    EXPECT_TRUE(pool.take_trained().empty());
  }
  waiting[1]();  // a late write finds the pool gone and does no harm
}

TEST(SlotPool, TellsTheTimeOfWholeTrialsAloneForTheForecastOfOthers) {
  ScriptedEvaluator evaluator(
      [](const trial::Trial& trial, trial::EvaluationContext& context) -> trial::Outcome {
        context.report({.step = 1, .values = {{"loss", 1}}});
        context.timing().train_s = 5;
        if (trial.number == 2) return Failure{FailureKind::kDiverged, "NaN"};
        return trial::Measurements{
            .values = {0}, .extent = trial.number == 1 ? trial::Extent::kPruned : trial::Extent::kWhole};
      });
  const auto courses = [](const store::TrainingKey&, const auto&, std::function<void()> written) {
    if (written) written();
  };
  SlotPool pool(pool_of(1), evaluator, {{}, {}, nullptr, nullptr, courses});
  for (const trial::TrialNumber number : {0U, 1U, 2U}) pool.submit(0, {trial_of(number), {}});
  const std::vector<Arrival> arrivals = collect(pool, 3);
  const std::vector<TrainedPart> parts = pool.take_trained();
  for (const std::size_t i : {0U, 1U, 2U}) {
    EXPECT_EQ(parts.at(i).seconds > 0, i == 0) << i;
    EXPECT_EQ(arrivals.at(i).whole_s() > 0, i == 0) << i;
  }
  Arrival follower{{0}, trial::Measurements{}, {.train_s = 5}};
  follower.follower = true;
  EXPECT_EQ(follower.whole_s(), 0);
}

TEST(SlotPool, WritesNoWeightsOfAFailedTrial) {
  ScriptedEvaluator evaluator([](const trial::Trial&, trial::EvaluationContext& context) {
    context.weights().keep({{"w", {1}, {2.5F}}});
    return Failure{FailureKind::kDiverged, "loss is NaN"};
  });
  bool written = false;
  SlotPool pool(pool_of(1), evaluator, {[&](auto&&...) { written = true; }, {}, nullptr, nullptr});
  pool.submit(0, {trial_of(0), {}});
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
    pool.submit(0, {trial_of(0), {}});
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
  pool.submit(0, {trial_of(0), {}});
  pool.submit(0, {trial_of(1), {}});
  while (!running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  pool.request_stop();
  pool.submit(0, {trial_of(2), {}});
  const auto arrivals = collect(pool, 3);
  ASSERT_EQ(arrivals.size(), 3U);
  for (const Arrival& arrival : arrivals) EXPECT_TRUE(arrival.stopped());
  EXPECT_EQ(arrivals[2].timing.rank, 4);
}

TEST(SlotPool, TakesAStopThatNobodyAskedForAsABug) {
  ScriptedEvaluator evaluator([](auto&&...) { return Failure{FailureKind::kStopped, "tired"}; });
  SlotPool pool(pool_of(1), evaluator, {});
  pool.submit(0, {trial_of(0), {}});
  EXPECT_THROW(collect(pool, 1), InternalError);
}

TEST(SlotPool, PassesAnEvaluatorsBugOnToTheMainThread) {
  ScriptedEvaluator evaluator([](auto&&...) { return trial::Measurements{{1, 2, 3}}; });
  SlotPool pool(pool_of(1), evaluator, {});
  pool.submit(0, {trial_of(0), {}});
  EXPECT_THROW(collect(pool, 1), InternalError);
}

}  // namespace
}  // namespace skyline::engine
