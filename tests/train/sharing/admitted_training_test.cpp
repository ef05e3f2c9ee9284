#include "train/sharing/admitted_training.hpp"

#include "train/fixtures/fake_device.hpp"
#include "train/fixtures/group_fixtures.hpp"

#include <atomic>

#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::FakeDevice;
using test::RecordingContext;
using trial::Failure;
using trial::FailureKind;
using trial::Measurements;
using trial::Outcome;

/// Trials that take memory of a fake device in the middle of their training.
class AdmittedTrainingTest : public ::testing::Test {
 protected:
  /// An attempt as the evaluator makes it: out of memory is a failure, all memory is free in the end.
  Outcome attempt(trial::EvaluationContext& context, std::size_t bytes) {
    ++attempts_;
    try {
      for (int step = 1; step <= 10; ++step) {
        context.state().due(static_cast<double>(step) / 10);
        if (step == 5) device_.allocate(bytes);
      }
    } catch (const c10::OutOfMemoryError&) {
      return Failure{FailureKind::kOutOfMemory, "the fake device is full"};
    }
    while (hold_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    device_.free(bytes);
    return Measurements{{static_cast<double>(bytes)}};
  }

  Outcome train(const trial::Trial& trial, RecordingContext& context, std::size_t bytes) {
    return train_when_admitted(
        gate_, {trial, options_, device_.devices().front()}, context,
        [&](trial::EvaluationContext& inner, AdmissionGate::Permit&) { return attempt(inner, bytes); });
  }

  /// Trains a group of two members, each with a device; the leader's device is the one of the other trials.
  std::vector<Outcome> train_group(const trial::Trial& trial, std::size_t bytes,
                                   int leaders_polls = std::numeric_limits<int>::max()) {
    std::vector<Outcome> outcomes(2);
    test::run_members(2, [&](std::size_t member, trial::TrialGroup& group) {
      RecordingContext context;
      context.in_group = &group;
      if (member == 0) context.stop_after_polls = leaders_polls;
      AdmissionGate& gate = member == 0 ? gate_ : other_gate_;
      outcomes[member] = train_when_admitted(gate, {trial, options_, device_.devices().front()}, context,
                                             [&](trial::EvaluationContext& inner, AdmissionGate::Permit&) {
                                               began_beside_others_ =
                                                   began_beside_others_ || gate.running() > 1;
                                               return attempt(inner, bytes);
                                             });
    });
    return outcomes;
  }

  trial::Trial trial_ = test::make_trial(test::conv_network({1, 8, 8}, 1, 3, 4, 10), 1, 1);
  TrainingOptions options_;
  FakeDevice device_{std::size_t{1} << 30};
  AdmissionGate gate_{device_, 0};
  AdmissionGate other_gate_{device_, 0};
  std::atomic<bool> began_beside_others_{false};
  std::atomic<bool> hold_{false};
  std::atomic<int> attempts_{0};
};

TEST_F(AdmittedTrainingTest, ReturnsWhatTheAttemptDoes) {
  RecordingContext context;
  const Outcome outcome = train(trial_, context, 1000);
  ASSERT_TRUE(std::holds_alternative<Measurements>(outcome));
  EXPECT_EQ(attempts_, 1);
  EXPECT_EQ(gate_.running(), 0U);
}

TEST_F(AdmittedTrainingTest, TrainsATrialThatRanOutOfMemoryOnceMoreAlone) {
  const std::size_t most = std::size_t{1} << 30;
  hold_ = true;
  RecordingContext neighbours_context;
  Outcome neighbours;
  std::thread neighbour([&] { neighbours = train(trial_, neighbours_context, most / 2); });
  while (device_.allocated() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  RecordingContext context;
  Outcome outcome;
  std::thread slot([&] { outcome = train(trial_, context, most / 2 + 1); });
  while (gate_.waiting() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(attempts_, 2);  // the second one has failed, the third one waits for the first one's end
  EXPECT_EQ(gate_.running(), 1U);
  hold_ = false;
  neighbour.join();
  slot.join();
  EXPECT_EQ(attempts_, 3);
  EXPECT_TRUE(std::holds_alternative<Measurements>(neighbours));
  EXPECT_TRUE(std::holds_alternative<Measurements>(outcome));
  EXPECT_GT(context.times.wait_device_s, 0);
  EXPECT_EQ(device_.allocated(), 0U);
}

TEST_F(AdmittedTrainingTest, FailsATrialThatRunsOutOfMemoryAlone) {
  RecordingContext context;
  const Outcome outcome = train(trial_, context, std::size_t{2} << 30);
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
  const Failure& failure = std::get<Failure>(outcome);
  EXPECT_EQ(failure.kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(failure.reason, ::testing::HasSubstr("with the device to itself: 0.1 GiB expected"));
  EXPECT_THAT(failure.reason, ::testing::EndsWith("Fake has 1.0 GiB"));
  EXPECT_EQ(attempts_, 2);
  RecordingContext next;
  EXPECT_TRUE(std::holds_alternative<Measurements>(train(trial_, next, 1000)));
}

TEST_F(AdmittedTrainingTest, DoesNotTryAMemberOfAGroupAgain) {
  std::vector<Outcome> outcomes = train_group(trial_, std::size_t{2} << 30);
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    EXPECT_EQ(std::get<Failure>(outcome).reason, "the fake device is full");
  }
  EXPECT_EQ(attempts_, 2);
}

TEST_F(AdmittedTrainingTest, BeginsAGroupWhenAllItsMembersHaveTheirDevices) {
  hold_ = true;
  RecordingContext neighbours_context;
  std::thread neighbour([&] { train(trial_, neighbours_context, 1000); });
  while (device_.allocated() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::thread group([&] { train_group(trial_, 1000); });
  while (gate_.running() < 2 || other_gate_.running() < 1) std::this_thread::yield();
  EXPECT_EQ(attempts_, 1);
  hold_ = false;
  group.join();
  neighbour.join();
  EXPECT_EQ(attempts_, 3);
  EXPECT_FALSE(began_beside_others_);
}

TEST_F(AdmittedTrainingTest, StopsAGroupThatWaits) {
  const AdmissionGate::Permit neighbour = gate_.enter({1000}, [] { return false; });
  for (const Outcome& outcome : train_group(trial_, 1000, 3)) {
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kStopped);
  }
  EXPECT_EQ(attempts_, 0);
}

TEST_F(AdmittedTrainingTest, DoesNotCountALostAttemptAsTraining) {
  RecordingContext context;
  int attempts = 0;
  train_when_admitted(gate_, {trial_, options_, device_.devices().front()}, context,
                      [&](trial::EvaluationContext& inner, AdmissionGate::Permit&) -> Outcome {
                        inner.timing().train_s += 1;
                        if (++attempts == 1) return Failure{FailureKind::kOutOfMemory, "full"};
                        return Measurements{};
                      });
  EXPECT_EQ(context.times.train_s, 1);
}

/// Trains as on a GPU without a deterministic algorithm for one of the trial's convolutions.
TEST_F(AdmittedTrainingTest, TrainsOnceMoreAloneWithAnyAlgorithmOfCudnnWhereItHasNoDeterministicOne) {
  at::globalContext().setDeterministicCuDNN(true);
  RecordingContext context;
  int attempts = 0;
  const auto needs_any = [&](trial::EvaluationContext&, AdmissionGate::Permit&) -> Outcome {
    ++attempts;
    if (!at::globalContext().deterministicCuDNN()) return Measurements{{1}};
    return Failure{FailureKind::kException, "GET was unable to find an engine to execute this computation"};
  };
  const Outcome outcome =
      train_when_admitted(gate_, {trial_, options_, device_.devices().front()}, context, needs_any);
  EXPECT_TRUE(std::holds_alternative<Measurements>(outcome));
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(context.times.any_order, 1);
  EXPECT_TRUE(at::globalContext().deterministicCuDNN()) << "the next trial takes deterministic ones again";
  at::globalContext().setDeterministicCuDNN(false);
}

/// Both members train in one process, as those that share a GPU do.
TEST_F(AdmittedTrainingTest, LetsAGroupUseAnyAlgorithmIfItsLastTryLackedOne) {
  at::globalContext().setDeterministicCuDNN(true);
  for (const bool lacked : {false, true}) {
    test::run_members(2, [&](std::size_t member, trial::TrialGroup& group) {
      RecordingContext context;
      context.in_group = &group;
      context.failed_before =
          lacked ? "GET was unable to find an engine to execute this computation" : "full";
      train_when_admitted(member == 0 ? gate_ : other_gate_, {trial_, options_, device_.devices().front()},
                          context, [&](trial::EvaluationContext&, AdmissionGate::Permit&) -> Outcome {
                            EXPECT_EQ(at::globalContext().deterministicCuDNN(), !lacked);
                            std::array<double, 1> met = {1};  // none ends while another one looks
                            group.sum(met);
                            return Measurements{{1}};
                          });
      EXPECT_EQ(context.times.any_order, lacked ? 1 : 0);
    });
    EXPECT_TRUE(at::globalContext().deterministicCuDNN());
  }
  at::globalContext().setDeterministicCuDNN(false);
}

TEST_F(AdmittedTrainingTest, FailsATrialForWhichCudnnHasNoAlgorithmAtAll) {
  at::globalContext().setDeterministicCuDNN(true);
  RecordingContext context;
  int attempts = 0;
  const auto never = [&](trial::EvaluationContext&, AdmissionGate::Permit&) -> Outcome {
    ++attempts;
    return Failure{FailureKind::kException, "GET was unable to find an engine to execute this computation"};
  };
  const Outcome outcome =
      train_when_admitted(gate_, {trial_, options_, device_.devices().front()}, context, never);
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
  EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kException);
  EXPECT_EQ(attempts, 2);
  at::globalContext().setDeterministicCuDNN(false);
}

TEST_F(AdmittedTrainingTest, DoesNotTryAgainOnABrokenDevice) {
  RecordingContext context;
  int attempts = 0;
  const auto breaks = [&](trial::EvaluationContext&, AdmissionGate::Permit&) -> Outcome {
    ++attempts;
    device_.fail_from_now_on();
    return Failure{FailureKind::kException, "GET was unable to find an engine to execute this computation"};
  };
  train_when_admitted(gate_, {trial_, options_, device_.devices().front()}, context, breaks);
  EXPECT_EQ(attempts, 1);
}

TEST_F(AdmittedTrainingTest, StopsATrialThatWaits) {
  const AdmissionGate::Permit neighbour = gate_.enter({std::size_t{1} << 30}, [] { return false; });
  RecordingContext context;
  context.stop_after_polls = 3;
  const Outcome outcome = train(trial_, context, 1);
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
  EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kStopped);
  EXPECT_EQ(attempts_, 0);
}

TEST(TrainingOnADevice, SaysThatItsDeviceIsLostAfterATrialHasFailed) {
  const auto device = std::make_shared<FakeDevice>(1000);
  const auto evaluator =
      make_training_evaluator(TrainingOptions{}, Normalization::kStandard,
                              std::make_shared<test::BarImages>(space::Shape{1, 8, 8}, 3, 40, 4),
                              test::split_in_two(32, 8), false, {device, 0});
  EXPECT_EQ(evaluator->fault(), nullptr);
  device->fail_from_now_on();
  RecordingContext context;
  const auto trial = test::make_trial(test::conv_network({1, 8, 8}, 1, 3, 4, 3), 1, 1);
  EXPECT_TRUE(std::holds_alternative<Failure>(evaluator->evaluate(trial, context)));
  EXPECT_THAT([&] { std::rethrow_exception(evaluator->fault()); },
              ::testing::ThrowsMessage<FaultError>("the fake device is lost"));
}

}  // namespace
}  // namespace skyline::train
