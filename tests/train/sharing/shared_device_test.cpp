// Slots of a rank that train on one device, which is the CPU behind the seam of accelerators.
#include "train/fixtures/train_fixtures.hpp"
#include "train/fixtures/watched_accelerator.hpp"
#include "trial/forwarding.hpp"

#include <bit>
#include <chrono>
#include <thread>

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::RecordingContext;
using test::WatchedAccelerator;
using trial::Failure;
using trial::FailureKind;
using trial::Measurements;
using trial::Outcome;

constexpr std::size_t kSamples = 160;
constexpr std::size_t kHeldOut = 64;

/// Counts how often it was asked whether to stop; its trial can be held at its first step.
class WatchedContext final : public trial::ForwardingContext, public trial::TrialControl {
 public:
  explicit WatchedContext(RecordingContext& next) : ForwardingContext(next), next_(next) {}
  trial::TrialControl& control() override { return *this; }
  bool stop_requested() const override {
    ++polls;
    came = true;
    while (hold) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return next_.stop_requested();
  }

  mutable std::atomic<int> polls = 0;
  mutable std::atomic<bool> came = false;
  std::atomic<bool> hold = false;

 private:
  trial::TrialControl& next_;
};

class SharedDevice : public ::testing::Test {
 protected:
  std::unique_ptr<trial::Evaluator> evaluator(DeviceUse device, bool measure_latency = false) {
    TrainingOptions options;
    options.batch = 16;
    const auto data = std::make_shared<test::BarImages>(space::Shape{1, 8, 8}, 4, kSamples + kHeldOut, 0);
    return make_training_evaluator(options, Normalization::kUnit, data,
                                   test::split_in_two(kSamples, kHeldOut), measure_latency,
                                   std::move(device));
  }

  static trial::Trial trial(int layers) {
    trial::Trial made = test::make_trial(test::conv_network({1, 8, 8}, layers, 3, 4, 4), 2, 1);
    made.number = static_cast<trial::TrialNumber>(layers);
    return made;
  }

  static std::vector<std::uint64_t> bits(const Outcome& outcome) {
    std::vector<std::uint64_t> all;
    for (const double value : std::get<Measurements>(outcome).values) {
      all.push_back(std::bit_cast<std::uint64_t>(value));
    }
    return all;
  }

  static void run_out_of_memory() {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "the device is full\nand says so in two lines");
  }

  std::shared_ptr<WatchedAccelerator> device_ = std::make_shared<WatchedAccelerator>();
};

TEST_F(SharedDevice, HasMoreSlotsThanItsRankHasProcessors) {
  EXPECT_EQ(evaluator({device_, 0})->slots(), 16U);
  EXPECT_EQ(evaluator({})->slots(), 0U);
}

TEST_F(SharedDevice, GivesTheSameBitsWhetherTrialsShareItOrNot) {
  constexpr int kTrials = 4;
  const auto alone = evaluator({device_, 0});
  const auto shared = evaluator({device_, 0});
  std::vector<Outcome> outcomes(kTrials);
  std::vector<std::thread> slots;
  for (int i = 0; i < kTrials; ++i) {
    slots.emplace_back([&, i] {
      RecordingContext context;
      outcomes[static_cast<std::size_t>(i)] = shared->evaluate(trial(i + 1), context);
    });
  }
  for (std::thread& slot : slots) slot.join();
  for (int i = 0; i < kTrials; ++i) {
    RecordingContext context;
    EXPECT_EQ(bits(outcomes[static_cast<std::size_t>(i)]), bits(alone->evaluate(trial(i + 1), context)));
  }
}

TEST_F(SharedDevice, TrainsATrialAgainThatRanOutOfMemoryBesideOthers) {
  std::atomic<int> gathers = 0;
  RecordingContext undisturbed;
  const std::vector<std::uint64_t> expected = bits(evaluator({device_, 0})->evaluate(trial(2), undisturbed));
  device_->before_gather = [&] {
    if (++gathers == 5) run_out_of_memory();
  };
  RecordingContext context;
  EXPECT_EQ(bits(evaluator({device_, 0})->evaluate(trial(2), context)), expected);
  EXPECT_GT(gathers, 5);
}

TEST_F(SharedDevice, MeasuresLatencyWhenNoOtherTrialUsesIt) {
  const auto shared = evaluator({device_, 0}, true);
  double waited_s = 0;
  for (int round = 0; round < 10 && waited_s == 0; ++round) {  // one that waits for a core may seem to wait
    RecordingContext first;
    RecordingContext second;
    WatchedContext held(first);
    WatchedContext measured(second);
    held.hold = true;
    std::thread neighbour([&] { shared->evaluate(trial(2), held); });
    while (!held.came) std::this_thread::yield();
    Outcome outcome;
    std::atomic<bool> ended = false;
    std::thread slot([&] {
      outcome = shared->evaluate(trial(1), measured);
      ended = true;
    });
    for (int before = -1; !ended && (before < 1 || measured.polls > before);) {
      before = measured.polls;
      std::this_thread::sleep_for(std::chrono::seconds(1));  // it trains, then waits
    }
    EXPECT_FALSE(ended);
    held.hold = false;
    neighbour.join();
    slot.join();
    ASSERT_TRUE(std::holds_alternative<Measurements>(outcome));
    EXPECT_GT(second.times.latency_s, 0);
    waited_s = second.times.wait_device_s;
  }
  EXPECT_GT(waited_s, 0);
}

TEST_F(SharedDevice, FailsATrialThatDoesNotFitOnIt) {
  device_->before_gather = run_out_of_memory;
  const auto shared = evaluator({device_, 0});
  RecordingContext context;
  const Outcome outcome = shared->evaluate(trial(1), context);
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
  EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(std::get<Failure>(outcome).reason, ::testing::HasSubstr("with the device to itself"));
  device_->before_gather = {};
  EXPECT_TRUE(std::holds_alternative<Measurements>(shared->evaluate(trial(2), context)));
}

}  // namespace
}  // namespace skyline::train
