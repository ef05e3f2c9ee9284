#include "train/sharing/node_memory_limiter.hpp"

#include "skyline/core/error.hpp"

#include "comm/environment.hpp"
#include "evaluate/job_ranks.hpp"
#include "machine/node_semaphore.hpp"
#include "train/fixtures/train_fixtures.hpp"
#include "train/sharing/memory_forecast.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline::train {
namespace {

using test::conv_network;
using test::make_trial;
using test::RecordingContext;
using test::with_batch;
using trial::Failure;
using trial::FailureKind;
using trial::Measurements;
using trial::Outcome;

constexpr std::uint64_t kMebibyte = 1 << 20;

class NodeMemoryLimiterTest : public ::testing::Test {
 protected:
  static NodeMemoryLimiter memory(std::uint64_t most, std::uint64_t node, std::size_t slots) {
    static std::atomic<int> number = 0;
    const std::string name = "skyline-test-" + std::to_string(::getpid()) + '-' + std::to_string(number++);
    auto tokens = std::make_unique<machine::NodeSemaphore>(name, slots, slots);
    tokens->remove_name();
    return NodeMemoryLimiter({most, node}, std::move(tokens));
  }

  const trial::Trial trial = make_trial(conv_network({3, 32, 32}, 4, 3, 32, 10), 1, 1);
  const TrainingOptions options = with_batch(64);
  const std::uint64_t needed = predict_host_bytes(trial.architecture().network(), options);
};

TEST_F(NodeMemoryLimiterTest, FailsATrialThatCanNeverFitBeforeItsFirstStep) {
  RecordingContext context;
  int attempts = 0;
  const Outcome outcome = memory(64 * kMebibyte, 1024 * kMebibyte, 4).train(trial, options, context, [&] {
    ++attempts;
    return Outcome();
  });
  EXPECT_EQ(attempts, 0);
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
  EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(std::get<Failure>(outcome).reason,
            "not enough memory: " + std::to_string((needed + kMebibyte - 1) / kMebibyte) +
                " MiB expected for " + std::to_string(trial.architecture().cost.parameters) +
                " parameters and a batch of 64, a trial may take 64 MiB");
}

/// The most trials at once when four slots have one each, which wait until so many have met.
int most_at_once(const NodeMemoryLimiter& memory, const trial::Trial& trial, const TrainingOptions& options,
                 int expected) {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> slots;
  for (int slot = 0; slot < 4; ++slot) {
    slots.emplace_back([&] {
      RecordingContext context;
      memory.train(trial, options, context, [&] {
        const int here = ++now;
        for (int seen = most; seen < here && !most.compare_exchange_weak(seen, here);) continue;
        for (int look = 0; look < 6000 && most < expected; ++look) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // one too many would come
        --now;
        return Outcome(Measurements{});
      });
    });
  }
  for (std::thread& slot : slots) slot.join();
  return most;
}

TEST_F(NodeMemoryLimiterTest, LetsAsManyTrialsTrainAsFit) {
  EXPECT_EQ(most_at_once(memory(4 * needed, 4 * needed, 4), trial, options, 4), 4);
  EXPECT_EQ(most_at_once(memory(2 * needed, 2 * needed, 4), trial, options, 2), 2);
  EXPECT_EQ(most_at_once(memory(needed, needed, 4), trial, options, 1), 1);
  EXPECT_EQ(most_at_once(memory(needed, 0, 4), trial, options, 1), 1);  // alone, where the rest is in use
}

TEST_F(NodeMemoryLimiterTest, LetsAWaitingTrialStop) {
  const NodeMemoryLimiter one = memory(needed, needed, 2);
  RecordingContext context;
  one.train(trial, options, context, [&] {
    RecordingContext stopped;
    stopped.stop_after_polls = 2;
    const Outcome outcome = one.train(trial, options, stopped, [] { return Outcome(Measurements{}); });
    EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kStopped);
    EXPECT_GT(stopped.times.wait_device_s, 0);
    return outcome;
  });
}

TEST_F(NodeMemoryLimiterTest, OfAJobIsWhatTheConfigurationSaysLessWhatRanksTake) {
  const auto job = comm::make_local_environment();
  evaluate::JobRanks ranks(*job);
  const auto given = share_node_memory(ranks, 0, 2, kRestingBytes + 64 * kMebibyte);
  EXPECT_EQ(given->share(), 32 * kMebibyte);
  RecordingContext context;
  const Outcome outcome = given->train(trial, options, context, [] { return Outcome(Measurements{}); });
  EXPECT_THAT(std::get<Failure>(outcome).reason, ::testing::EndsWith("a trial may take 64 MiB"));
  const auto all = share_node_memory(ranks, 0, 2, std::nullopt);
  EXPECT_TRUE(std::holds_alternative<Measurements>(
      all->train(trial, options, context, [] { return Outcome(Measurements{}); })));
  EXPECT_THROW(share_node_memory(ranks, 0, 2, kRestingBytes), UserError);
}

TEST_F(NodeMemoryLimiterTest, IsForecastToGrowWithNetworkBatchAndMomentsAndToBeDividedByAGroup) {
  const space::Network& network = trial.architecture().network();
  EXPECT_GT(predict_host_bytes(network, with_batch(128)), needed);
  EXPECT_GT(predict_host_bytes(conv_network({3, 32, 32}, 8, 3, 32, 10), options), needed);
  TrainingOptions sgd = options;
  sgd.optimizer.kind = OptimizerOptions::Kind::kSgd;
  EXPECT_LT(predict_host_bytes(network, sgd), needed);
  EXPECT_LT(predict_host_bytes(network, options, 4), needed);
}

}  // namespace
}  // namespace skyline::train
