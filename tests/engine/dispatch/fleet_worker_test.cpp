#include "engine/dispatch/fleet_dispatcher.hpp"
#include "engine/fixtures/engine_rig.hpp"
#include "engine/fixtures/scripted_evaluator.hpp"
#include "support/mpi_test.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using FleetWorkerTest = testing::MpiTest;

/// What ends a worker whose rank 0 is this process.
std::string end_of_worker(FleetChannel& mail, SlotPool& slots, const RankProcess& coordinator, int ranks) {
  store::StorageThread storage;
  const RunFiles files{store::RunPaths{"nowhere"}, {}, storage};
  EngineOptions options;
  options.checkpoints.reset();
  const auto results = std::make_shared<ResultKeeper>(files, test_space(), 1, options);
  FleetWorker worker(mail, slots, *results, {}, coordinator, ranks);
  try {
    worker.serve([] {}, [] { return true; });
  } catch (const FaultError& error) {
    mail.flush();
    return error.what();
  }
  return "it has ended by itself";
}

std::string end_of_worker(FleetChannel& mail, const RankProcess& coordinator, int ranks) {
  ScriptedEvaluator evaluator({});
  SlotPool slots(pool_of(1), evaluator, {});
  return end_of_worker(mail, slots, coordinator, ranks);
}

TEST_F(FleetWorkerTest, GivesItsTrialsToOthersIfOneNeverLooks) {
  const std::size_t bytes = most_mail_bytes(test_space(), 1, 1);
  FleetChannel mail(testing::environment().make_link(bytes), test_space(), bytes, 0, true);
  if (rank() == 1) {
    std::atomic<bool> stuck = true;
    ScriptedEvaluator evaluator([&](auto&&...) {
      while (stuck) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return trial::Measurements{{1}};
    });
    EngineOptions engine;
    engine.trial_timeout_s = 0.05;
    SlotPoolOptions options = pool_of(1, engine);
    options.stuck_after_s = 0.05;
    SlotPool slots(options, evaluator, {});
    slots.submit(0, {trial_of(3), {}});
    EXPECT_EQ(end_of_worker(mail, slots, {.place = 1, .start_ticks = 2, .number = 3}, size()),
              "trial 3 took longer than run.trial_timeout, and does not stop");
    stuck = false;
  } else if (rank() == 0) {
    std::optional<FleetChannel::Message> message;
    while (!message || message->kind == MessageKind::kAlive) message = mail.receive();
    EXPECT_EQ(message->kind, MessageKind::kStuck);
    EXPECT_EQ(from_record<trial::TrialName>(message->content), trial::TrialName{3});
  }
}

TEST_F(FleetWorkerTest, TellsTheOthersThatRankZeroHasEnded) {
  const std::size_t bytes = most_mail_bytes(test_space(), 1, 1);
  FleetChannel mail(testing::environment().make_link(bytes), test_space(), bytes, 0, true);
  if (rank() == 1) {
    RankProcess ended = RankProcess::own();
    ended.start_ticks += 1;  // another process on this host
    EXPECT_EQ(end_of_worker(mail, ended, size()), "rank 0 is lost (its process has ended): resume the run");
  } else if (rank() > 1) {
    const RankProcess elsewhere{.place = 1, .start_ticks = 2, .number = 3};
    EXPECT_EQ(end_of_worker(mail, elsewhere, size()),
              "rank 0 has failed or is lost, or takes this rank for lost");
  }
}

}  // namespace
}  // namespace skyline::engine
