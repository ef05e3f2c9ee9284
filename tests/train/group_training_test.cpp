// Several members train a trial as one would, with the same outcome on each of them.
#include "skyline/train/layer_op.hpp"

#include "train/course/training_evaluator.hpp"
#include "train/group_fixtures.hpp"
#include "train/forwarding_context.hpp"
#include "train/train_fixtures.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::BarImages;
using test::bars;
using test::every_layer;
using test::GroupRun;
using test::make_trial;
using test::NetworkBuilder;
using test::RecordingContext;
using trial::Failure;
using trial::FailureKind;
using trial::Measurements;
using trial::Outcome;
using trial::TrainingState;
using trial::Trial;

using Statistics = GroupOptions::Statistics;
using Sharding = GroupOptions::Sharding;

enum Metric : std::size_t { kAccuracy, kValidationLoss, kTrainLoss, kLatency, kTestAccuracy, kSteps };

// 202 samples in batches of 8: 26 steps an epoch, the last one with 2 samples, so that of four members two
// have none.
constexpr std::size_t kSamples = 202;
constexpr std::size_t kHeldOut = 90;
constexpr int kEpochSteps = 26;

TrainingOptions sgd(Statistics statistics, Sharding sharding = Sharding::kNone) {
  TrainingOptions options;
  options.batch = 8;
  options.optimizer.kind = OptimizerOptions::Kind::kSgd;
  options.optimizer.learning_rate = 0.02;
  options.optimizer.weight_decay = 1e-3;
  options.latency = {1, 2, 3};
  options.group.statistics = statistics;
  options.group.sharding = sharding;
  return options;
}

TrainingOptions adam(Statistics statistics, Sharding sharding = Sharding::kNone) {
  TrainingOptions options = sgd(statistics, sharding);
  options.optimizer = {};
  options.optimizer.learning_rate = 0.005;
  options.optimizer.weight_decay = 1e-3;
  return options;
}

std::unique_ptr<trial::Evaluator> make_evaluator(const TrainingOptions& options, bool latency = false) {
  return make_training_evaluator(options, Normalization::kStandard, bars(),
                                 test::split_in_two(kSamples, kHeldOut), latency);
}

Trial every_layer_trial(double epochs) {
  return make_trial(every_layer(), epochs, 5);
}

/// The result of a trial: measurements without the latency, weights, and the sum of losses after each step.
struct Result {
  std::vector<double> values;
  std::vector<trial::NamedTensor> weights;
  std::vector<double> loss_sums;
  TrainingState last;
};

Result result_of(const Outcome& outcome, const RecordingContext& context) {
  const auto* measured = std::get_if<Measurements>(&outcome);
  EXPECT_NE(measured, nullptr) << std::get<Failure>(outcome).reason;
  Result result{measured == nullptr ? std::vector<double>(6, -1) : measured->values, context.kept,
                context.loss_sums, context.last_saved};
  result.values[kLatency] = 0;
  return result;
}

/// By one member; saved after every step.
Result train_alone(const TrainingOptions& options, const Trial& trial) {
  RecordingContext context;
  context.wants = true;
  context.save_from_epoch = 0;
  const Outcome outcome = make_evaluator(options)->evaluate(trial, context);
  return result_of(outcome, context);
}

Result train_together(const TrainingOptions& options, const Trial& trial, std::size_t members) {
  GroupRun run(members);
  run.leader().save_from_epoch = 0;
  run.evaluate(*make_evaluator(options), trial);
  for (std::size_t m = 1; m < members; ++m) {
    const Result other = result_of(run.outcomes[m], run.contexts[m]);
    EXPECT_EQ(::testing::PrintToString(other.values),
              ::testing::PrintToString(result_of(run.outcomes[0], run.contexts[0]).values));
    EXPECT_EQ(run.contexts[m].saves, 0);
    EXPECT_TRUE(run.contexts[m].kept.empty());
  }
  return result_of(run.outcomes[0], run.contexts[0]);
}

template <typename T>
bool same_bits(const std::vector<T>& left, const std::vector<T>& right) {
  return left.size() == right.size() && !left.empty() &&
         std::memcmp(left.data(), right.data(), left.size() * sizeof(T)) == 0;
}

void expect_same(const Result& expected, const Result& result) {
  EXPECT_TRUE(same_bits(expected.values, result.values)) << ::testing::PrintToString(result.values);
  ASSERT_EQ(expected.weights.size(), result.weights.size());
  for (std::size_t i = 0; i < expected.weights.size(); ++i) {
    EXPECT_TRUE(same_bits(expected.weights[i].values, result.weights[i].values)) << result.weights[i].name;
  }
}

/// Largest difference, relative to the largest value.
double relative_difference(const std::vector<float>& left, const std::vector<float>& right) {
  double scale = 1e-6;
  double difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    scale = std::max(scale, std::abs(static_cast<double>(right[i])));
    difference = std::max(difference, std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i])));
  }
  return difference / scale;
}

void expect_close(const Result& alone, const Result& together, double tolerance) {
  ASSERT_EQ(alone.loss_sums.size(), together.loss_sums.size());
  for (std::size_t step = 0; step < alone.loss_sums.size(); ++step) {
    EXPECT_NEAR(alone.loss_sums[step], together.loss_sums[step], tolerance * (1 + alone.loss_sums[step]))
        << "step " << step + 1;
  }
  EXPECT_NEAR(alone.values[kValidationLoss], together.values[kValidationLoss], 10 * tolerance);
  ASSERT_EQ(alone.weights.size(), together.weights.size());
  for (std::size_t i = 0; i < alone.weights.size(); ++i) {
    EXPECT_LT(relative_difference(together.weights[i].values, alone.weights[i].values), 10 * tolerance)
        << alone.weights[i].name;
  }
}

TEST(GroupTraining, IsThatOfOneMemberWithSynchronizedStatistics) {
  const Trial trial = every_layer_trial(1.5);
  const Result alone = train_alone(sgd(Statistics::kSynchronized), trial);
  EXPECT_EQ(alone.loss_sums.size(), 39U);
  for (const std::size_t members : {2U, 3U, 4U}) {
    SCOPED_TRACE(std::to_string(members) + " members");
    expect_close(alone, train_together(sgd(Statistics::kSynchronized), trial, members), 1e-4);
  }
}

TEST(GroupTraining, IsThatOfOneMemberWithAdamAndAugmentedImages) {
  TrainingOptions options = adam(Statistics::kSynchronized);
  options.augment = {2, true, 3};
  const Trial trial = every_layer_trial(0.5);
  const Result alone = train_alone(options, trial);
  for (const std::size_t members : {2U, 3U, 4U}) {
    SCOPED_TRACE(std::to_string(members) + " members");
    expect_close(alone, train_together(options, trial, members), 1e-3);
  }
}

TEST(GroupTraining, NeedsNoSynchronizationWithoutBatchStatistics) {
  const Trial trial = make_trial(
      NetworkBuilder({2, 8, 8}).conv2d(8, 3).relu().max_pool(2).dropout(0.3).flatten().linear(6).build(), 2,
      5);
  const Result alone = train_alone(sgd(Statistics::kLocal), trial);
  expect_close(alone, train_together(sgd(Statistics::kLocal), trial, 3), 1e-4);
}

TEST(GroupTraining, LearnsWithLocalStatistics) {
  TrainingOptions options = adam(Statistics::kLocal);
  options.batch = 24;
  const Trial trial = make_trial(test::conv_network({2, 8, 8}, 2, 3, 16, 6), 12, 1);
  const Result alone = train_alone(options, trial);
  const Result together = train_together(options, trial, 4);
  EXPECT_GT(alone.values[kAccuracy], 0.95);
  EXPECT_GT(together.values[kAccuracy], 0.95);
  EXPECT_NE(alone.values[kTrainLoss], together.values[kTrainLoss]);
  EXPECT_NEAR(alone.values[kTrainLoss], together.values[kTrainLoss], 0.25);
}

TEST(GroupTraining, GivesTheSameBitsAgain) {
  for (const Statistics statistics : {Statistics::kLocal, Statistics::kSynchronized}) {
    const Result first = train_together(adam(statistics), every_layer_trial(1.2), 3);
    expect_same(first, train_together(adam(statistics), every_layer_trial(1.2), 3));
  }
}

TEST(GroupTraining, GivesTheSameBitsHoweverTheStateIsSharded) {
  for (const auto& make : {adam, sgd}) {
    for (const std::size_t members : {2U, 3U, 4U}) {
      SCOPED_TRACE(std::to_string(members) + " members");
      const Trial trial = every_layer_trial(1.2);
      const Result whole = train_together(make(Statistics::kLocal, Sharding::kNone), trial, members);
      for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients}) {
        const Result sharded = train_together(make(Statistics::kLocal, sharding), trial, members);
        expect_same(whole, sharded);
        ASSERT_EQ(sharded.last.arrays.size(), 2U);
        EXPECT_TRUE(same_bits(whole.last.arrays[0].values, sharded.last.arrays[0].values));
        EXPECT_TRUE(same_bits(whole.last.arrays[1].values, sharded.last.arrays[1].values));
      }
    }
  }
}

/// Stops when `member` has asked `polls` times, and returns what the leader saved then.
TrainingState stop_at(const TrainingOptions& options, const Trial& trial, std::size_t members,
                      std::size_t member, int polls) {
  GroupRun run(members);
  run.contexts[member].stop_after_polls = polls;
  run.evaluate(*make_evaluator(options), trial);
  for (std::size_t m = 0; m < members; ++m) {
    const auto* failure = std::get_if<Failure>(&run.outcomes[m]);
    EXPECT_NE(failure, nullptr);
    if (failure != nullptr) {
      EXPECT_EQ(failure->kind, FailureKind::kStopped);
      EXPECT_EQ(failure->reason, std::get<Failure>(run.outcomes[0]).reason);
    }
    EXPECT_EQ(run.contexts[m].saves, m == 0 ? 1 : 0);
  }
  return run.leader().last_saved;
}

Result resume(const TrainingOptions& options, const Trial& trial, std::size_t members,
              const TrainingState& state) {
  GroupRun run(members);
  run.leader().start_from = state;
  run.evaluate(*make_evaluator(options), trial);
  return result_of(run.outcomes[0], run.contexts[0]);
}

TEST(GroupTraining, GoesOnToTheBitFromWhereAnyMemberStoppedIt) {
  for (const Sharding sharding : {Sharding::kNone, Sharding::kOptimizer, Sharding::kGradients}) {
    const TrainingOptions options = adam(Statistics::kLocal, sharding);
    const Trial trial = every_layer_trial(1.5);
    const Result expected = train_together(options, trial, 3);
    std::size_t member = 0;
    // Each member is asked once before the first step, then after each.
    for (const int step : {1, 7, kEpochSteps - 1, kEpochSteps, kEpochSteps + 1, 39}) {
      SCOPED_TRACE("stopped after step " + std::to_string(step));
      const TrainingState state = stop_at(options, trial, 3, member++ % 3, step);
      EXPECT_EQ(state.step, step);
      expect_same(expected, resume(options, trial, 3, state));
    }
  }
}

TEST(GroupTraining, SavesWhatAnyShardingGoesOnFrom) {
  const Trial trial = every_layer_trial(1.5);
  const TrainingState state = stop_at(adam(Statistics::kLocal, Sharding::kGradients), trial, 4, 2, 11);
  const Result expected = train_together(adam(Statistics::kLocal), trial, 4);
  expect_same(expected, resume(adam(Statistics::kLocal), trial, 4, state));
}

TEST(GroupTraining, ScoresWithTheBitsOfOneMember) {
  const TrainingOptions options = adam(Statistics::kLocal);
  Trial trial = every_layer_trial(1);
  trial.proposal.trains = trial.number;
  RecordingContext alone;
  alone.wants = true;
  alone.save_from_epoch = 1;
  const Result expected = result_of(make_evaluator(options)->evaluate(trial, alone), alone);
  for (const std::size_t members : {2U, 3U, 5U}) {
    expect_same(expected, resume(options, trial, members, alone.last_saved));  // after the last step
  }
}

TEST(GroupTraining, EndsByConsensusIfItWasStoppedBeforeItBegan) {
  GroupRun run(3);
  run.contexts[1].stop_after_polls = 0;
  run.evaluate(*make_evaluator(adam(Statistics::kLocal)), every_layer_trial(1));
  for (const Outcome& outcome : run.outcomes) {
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    EXPECT_EQ(std::get<Failure>(outcome).reason, "stopped on request in step 0 of 26");
  }
  EXPECT_EQ(run.leader().saves, 0);
}

TEST(GroupTraining, StartsFromTheBeginningWhereTheLeadersStateDoesNotFit) {
  const TrainingOptions options = adam(Statistics::kLocal);
  const Trial trial = every_layer_trial(0.5);
  TrainingState state = stop_at(options, trial, 2, 0, 3);
  state.arrays[1].values.pop_back();
  ::testing::internal::CaptureStderr();
  const Result result = resume(options, trial, 2, state);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("starts from the beginning"));
  expect_same(train_together(options, trial, 2), result);
}

TEST(GroupTraining, InheritsWhatTheLeaderWasGiven) {
  const TrainingOptions options = sgd(Statistics::kSynchronized);
  Trial trial = every_layer_trial(0.1);
  RecordingContext parent;
  parent.wants = true;
  make_evaluator(options)->evaluate(every_layer_trial(2), parent);
  const auto weights = std::make_shared<const std::vector<trial::NamedTensor>>(parent.kept);
  trial.proposal.start = trial::Inherit{0, trial.proposal.architecture, 1.0};
  RecordingContext alone;
  alone.wants = true;
  alone.save_from_epoch = 0;
  alone.parents = weights;
  const Result expected = result_of(make_evaluator(options)->evaluate(trial, alone), alone);
  GroupRun run(3);
  run.leader().save_from_epoch = 0;
  run.leader().parents = weights;
  run.evaluate(*make_evaluator(options), trial);
  expect_close(expected, result_of(run.outcomes[0], run.leader()), 1e-4);
}

TEST(GroupTraining, StopsWhileTheLeaderWaitsForTheParentsWeights) {
  Trial trial = every_layer_trial(1);
  trial.proposal.start = trial::Inherit{0, trial.proposal.architecture, 1.0};
  GroupRun run(2);
  run.leader().stop_after_polls = 0;
  run.evaluate(*make_evaluator(adam(Statistics::kLocal)), trial);
  for (const Outcome& outcome : run.outcomes) {
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kStopped);
  }
}

TEST(GroupTraining, LetsTheLeaderAloneMeasureTheLatency) {
  GroupRun run(3);
  run.evaluate(*make_evaluator(adam(Statistics::kLocal), true), every_layer_trial(0.2));
  const double latency_ms = std::get<Measurements>(run.outcomes[0]).values[kLatency];
  EXPECT_GT(latency_ms, 0);
  for (const Outcome& outcome : run.outcomes) {
    EXPECT_EQ(std::get<Measurements>(outcome).values[kLatency], latency_ms);
  }
  // Five steps, one agreement each and one before, two for two rounds of scoring; the leader's passes are
  // more.
  EXPECT_GT(run.leader().polls(), run.contexts[1].polls());
}

/// Takes its time from the poll after `polls` on.
class SlowContext final : public ForwardingContext, public trial::TrialControl {
 public:
  SlowContext(trial::EvaluationContext& context, int polls)
      : ForwardingContext(context), next_(context.control()), polls_(polls) {}
  trial::TrialControl& control() override { return *this; }
  bool stop_requested() const override {
    if (--polls_ < 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
    }
    return next_.stop_requested();
  }

 private:
  trial::TrialControl& next_;
  mutable int polls_;
};

TEST(GroupTraining, WaitsForALeaderThatMeasuresAsLongAsItTakes) {
  const auto evaluator = make_evaluator(adam(Statistics::kLocal), true);
  Trial trial = every_layer_trial(0.2);
  GroupRun undisturbed(2);
  undisturbed.evaluate(*evaluator, trial);
  const int before_latency = undisturbed.leader().polls() - 5;
  trial.members = 2;
  const auto evaluate = [&](std::size_t member, trial::TrialGroup& group) {
    RecordingContext context;
    context.in_group = &group;
    SlowContext slow(context, member == 0 ? before_latency : std::numeric_limits<int>::max());
    const Outcome outcome = evaluator->evaluate(trial, slow);
    EXPECT_TRUE(std::holds_alternative<Measurements>(outcome)) << std::get<Failure>(outcome).reason;
  };
  test::run_members(2, evaluate, std::chrono::milliseconds(2500));
}

TEST(GroupTraining, StopsWhileTheLeaderMeasuresTheLatency) {
  GroupRun undisturbed(2);
  const auto evaluator = make_evaluator(adam(Statistics::kLocal), true);
  undisturbed.evaluate(*evaluator, every_layer_trial(0.2));
  GroupRun run(2);
  run.leader().stop_after_polls = undisturbed.leader().polls() - 1;
  run.evaluate(*evaluator, every_layer_trial(0.2));
  for (const Outcome& outcome : run.outcomes) {
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    EXPECT_EQ(std::get<Failure>(outcome).reason, "stopped on request in step 5 of 5");
  }
  EXPECT_EQ(run.leader().last_saved.step, 5);
}

TEST(GroupTraining, DivergesOnAllMembersInTheSameStep) {
  TrainingOptions options = sgd(Statistics::kLocal);
  options.optimizer.learning_rate = 1e30;
  GroupRun run(3);
  run.evaluate(*make_evaluator(options), every_layer_trial(1));
  for (const Outcome& outcome : run.outcomes) {
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
    EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kDiverged);
    EXPECT_EQ(std::get<Failure>(outcome).reason, std::get<Failure>(run.outcomes[0]).reason);
  }
}

enum class Fault { kNone, kMemory, kTorch, kOther };

/// How a FaultyOp of this thread fails, and in which pass: forward and backward count one each.
thread_local Fault fault = Fault::kNone;
thread_local int passes_left = 0;

class FaultyOp final : public FusedOp {
 public:
  at::Tensor reference(const Activations& inputs, bool /*training*/) override { return inputs.front(); }
  at::Tensor forward(const Activations& inputs) override {
    pass();
    return inputs.front();
  }
  Activations backward(at::Tensor gradient, bool /*wants_input_gradient*/) override {
    pass();
    return {gradient};
  }
  at::Tensor infer(const Activations& inputs) override { return inputs.front(); }

 private:
  static void pass() {
    if (fault == Fault::kNone || --passes_left > 0) {
      return;
    }
    if (fault == Fault::kMemory) {
      throw std::bad_alloc();
    }
    TORCH_CHECK(fault != Fault::kTorch, "a tensor of the wrong shape");
    throw std::runtime_error("a fault of another kind");
  }
};

TEST(GroupTraining, EndsForAllWithTheFailureOfOneMember) {
  register_layer_op("faulty", [](const space::Layer&, LayerTensors&) -> std::unique_ptr<LayerOp> {
    return std::make_unique<FaultyOp>();
  });
  const Trial trial = make_trial(
      NetworkBuilder({2, 8, 8}).conv2d(8, 3).batch_norm().plain("faulty").flatten().linear(6).build(), 1, 5);
  struct Case {
    Fault fault;
    int pass;  // even: in backward, with gradients under way
    FailureKind kind;
    const char* reason;
  };
  const Case cases[] = {{Fault::kMemory, 1, FailureKind::kOutOfMemory, "not enough memory for the network"},
                        {Fault::kMemory, 6, FailureKind::kOutOfMemory, "not enough memory for the network"},
                        {Fault::kTorch, 3, FailureKind::kException, "a tensor of the wrong shape"},
                        {Fault::kOther, 4, FailureKind::kException, "a fault of another kind"}};
  for (const Statistics statistics : {Statistics::kLocal, Statistics::kSynchronized}) {
    for (const Case& one : cases) {
      for (std::size_t faulty = 0; faulty < 3; ++faulty) {
        GroupRun run(3);
        run.evaluate(*make_evaluator(adam(statistics, Sharding::kGradients)), trial, [&](std::size_t member) {
          fault = member == faulty ? one.fault : Fault::kNone;
          passes_left = one.pass;
        });
        for (const Outcome& outcome : run.outcomes) {
          ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
          EXPECT_EQ(std::get<Failure>(outcome).kind, one.kind);
          EXPECT_EQ(std::get<Failure>(outcome).reason, one.reason);
        }
      }
    }
  }
}

}  // namespace
}  // namespace skyline::train
