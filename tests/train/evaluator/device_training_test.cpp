// Whole trials on a device, on the CPU behind the seam of accelerators: as on the host, alone and in groups.
#include "skyline/core/error.hpp"
#include "skyline/train/layer_op.hpp"

#include "train/device/accelerator.hpp"
#include "train/evaluator/training_evaluator.hpp"
#include "train/fixtures/group_fixtures.hpp"
#include "train/fixtures/train_fixtures.hpp"
#include "train/fixtures/watched_accelerator.hpp"

#include <cmath>
#include <string>

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
using test::WatchedAccelerator;
using trial::Failure;
using trial::Measurements;
using trial::Outcome;
using trial::Phase;
using trial::Trial;

enum Metric : std::size_t { kAccuracy, kValidationLoss, kTrainLoss, kLatency, kTestAccuracy, kSteps };

// 202 samples in batches of 8: 26 steps an epoch, the last one with 2 samples, so that of four members two
// have none. Two epochs stay below what is recorded.
TrainingOptions small_batches() {
  TrainingOptions options;
  options.batch = 8;
  options.optimizer.kind = OptimizerOptions::Kind::kSgd;
  options.optimizer.learning_rate = 0.02;
  options.latency = {1, 2, 3};
  return options;
}

std::unique_ptr<trial::Evaluator> make_evaluator(const TrainingOptions& options,
                                                 std::shared_ptr<Accelerator> accelerator,
                                                 bool latency = false) {
  return make_training_evaluator(options, Normalization::kStandard, bars(), test::split_in_two(202, 90),
                                 latency, {std::move(accelerator), 0});
}

std::shared_ptr<WatchedAccelerator> watched() {
  return std::make_shared<WatchedAccelerator>();
}

std::vector<double> values_of(const Outcome& outcome) {
  const auto* measured = std::get_if<Measurements>(&outcome);
  EXPECT_NE(measured, nullptr) << std::get<Failure>(outcome).reason;
  return measured == nullptr ? std::vector<double>(6, -1) : measured->values;
}

std::string reason_of(const Outcome& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  return failure == nullptr ? "" : failure->reason;
}

struct Result {
  std::vector<double> values;
  std::vector<trial::NamedTensor> weights;
};

Result evaluate(const TrainingOptions& options, const Trial& trial, std::shared_ptr<Accelerator> accelerator,
                RecordingContext& context) {
  context.wants = true;
  Result result;
  result.values = values_of(make_evaluator(options, std::move(accelerator))->evaluate(trial, context));
  result.weights = context.kept;
  return result;
}

Result evaluate(const TrainingOptions& options, const Trial& trial,
                std::shared_ptr<Accelerator> accelerator) {
  RecordingContext context;
  return evaluate(options, trial, std::move(accelerator), context);
}

Result evaluate_together(const TrainingOptions& options, Trial trial, std::size_t members,
                         std::shared_ptr<Accelerator> accelerator) {
  trial.members = static_cast<std::uint32_t>(members);
  GroupRun run(members);
  run.evaluate(*make_evaluator(options, std::move(accelerator)), trial);
  for (std::size_t m = 1; m < members; ++m) {
    EXPECT_EQ(::testing::PrintToString(values_of(run.outcomes[m])),
              ::testing::PrintToString(values_of(run.outcomes[0])));
  }
  return {values_of(run.outcomes[0]), run.contexts[0].kept};
}

void expect_close(const Result& result, const Result& expected, double tolerance) {
  EXPECT_NEAR(result.values[kValidationLoss], expected.values[kValidationLoss], tolerance);
  EXPECT_NEAR(result.values[kTrainLoss], expected.values[kTrainLoss], tolerance);
  EXPECT_NEAR(result.values[kAccuracy], expected.values[kAccuracy], 0.03);
  EXPECT_EQ(result.values[kSteps], expected.values[kSteps]);
  ASSERT_EQ(result.weights.size(), expected.weights.size());
  for (std::size_t t = 0; t < result.weights.size(); ++t) {
    ASSERT_EQ(result.weights[t].dims, expected.weights[t].dims);
    for (std::size_t i = 0; i < result.weights[t].values.size(); ++i) {
      ASSERT_NEAR(result.weights[t].values[i], expected.weights[t].values[i], tolerance)
          << result.weights[t].name;
    }
  }
}

void expect_same(const Result& result, const Result& expected) {
  EXPECT_EQ(::testing::PrintToString(result.values), ::testing::PrintToString(expected.values));
  ASSERT_EQ(result.weights.size(), expected.weights.size());
  for (std::size_t t = 0; t < result.weights.size(); ++t) {
    EXPECT_EQ(result.weights[t].values, expected.weights[t].values) << result.weights[t].name;
  }
}

TEST(DeviceTraining, EndsWhereTheHostsTrainingEnds) {
  const Trial trial = make_trial(every_layer(), 1.5, 5, Phase::kFinal);
  const auto accelerator = watched();
  const Result device = evaluate(small_batches(), trial, accelerator);
  const Result host = evaluate(small_batches(), trial, nullptr);
  EXPECT_EQ(accelerator->counts.gathers, 39 + 1 + 1);  // steps, validation, test
  expect_close(device, host, 5e-3);
  EXPECT_NEAR(device.values[kTestAccuracy], host.values[kTestAccuracy], 0.04);
}

TEST(DeviceTraining, RecordsALongTrialWithoutAnEffectOnItsResult) {
  const Trial trial = make_trial(every_layer(), 8, 5);  // 208 steps
  const auto recording = watched();
  const auto refusing = std::make_shared<WatchedAccelerator>(true);
  const Result recorded = evaluate(small_batches(), trial, recording);
  const Result plain = evaluate(small_batches(), trial, refusing);
  // Three steps as they are, and the eight smaller last batches.
  EXPECT_EQ(recording->counts.replays, 208 - 8 - 3);
  EXPECT_EQ(refusing->counts.replays, 0);
  expect_same(recorded, plain);
}

TEST(DeviceTraining, GoesOnFromACheckpointToTheSameBits) {
  const Trial trial = make_trial(every_layer(), 1.5, 5);
  const Result whole = evaluate(small_batches(), trial, watched());
  for (const int stop : {1, 17, 26, 30}) {
    RecordingContext first;
    first.stop_after_polls = stop;
    EXPECT_THAT(reason_of(make_evaluator(small_batches(), watched())->evaluate(trial, first)),
                ::testing::StartsWith("stopped on request"));
    EXPECT_EQ(first.last_saved.step, stop);
    RecordingContext second;
    second.start_from = first.last_saved;
    expect_same(evaluate(small_batches(), trial, watched(), second), whole);
  }
}

TEST(DeviceTraining, NamesTheStepInWhichTheLossDiverged) {
  TrainingOptions options = small_batches();
  options.optimizer.learning_rate = 1e38;
  const Trial trial = make_trial(every_layer(), 1, 5);
  RecordingContext context;
  RecordingContext host_context;
  EXPECT_EQ(reason_of(make_evaluator(options, watched())->evaluate(trial, context)),
            reason_of(make_evaluator(options, nullptr)->evaluate(trial, host_context)));
  EXPECT_EQ(reason_of(make_evaluator(options, watched())->evaluate(trial, context)),
            "loss became NaN in step 2");
}

/// Steps are queued ahead of the look at their losses, and a checkpoint or a stop looks earlier.
TEST(DeviceTraining, EndsADivergedTrialAlikeWhereverItIsSavedStoppedAndResumed) {
  for (const auto& [rate, steps] : {std::pair{1e38, 2}, std::pair{1e9, 3}}) {
    TrainingOptions options = small_batches();
    options.optimizer.learning_rate = rate;
    const Trial trial = make_trial(every_layer(), 1, 5);
    const auto reason = [&](RecordingContext& context) {
      return reason_of(make_evaluator(options, watched())->evaluate(trial, context));
    };
    RecordingContext undisturbed;
    const std::string expected = reason(undisturbed);
    EXPECT_EQ(expected, "loss became NaN in step " + std::to_string(steps));
    RecordingContext saving;
    saving.save_from_epoch = 0;
    EXPECT_EQ(reason(saving), expected);
    EXPECT_EQ(saving.saves, steps - 1);
    for (int stop = 1; stop < 12; ++stop) {
      SCOPED_TRACE("stopped after step " + std::to_string(stop));
      RecordingContext first;
      first.stop_after_polls = stop;
      const std::string stopped = reason(first);
      EXPECT_EQ(first.saves, stop < steps ? 1 : 0);
      if (stop >= steps) {
        EXPECT_EQ(stopped, expected);
        continue;
      }
      EXPECT_THAT(stopped, ::testing::StartsWith("stopped on request"));
      RecordingContext second;
      second.start_from = first.last_saved;
      EXPECT_EQ(reason(second), expected);
    }
  }
}

TEST(DeviceTraining, MeasuresALatency) {
  RecordingContext context;
  const auto evaluator = make_evaluator(small_batches(), watched(), true);
  const std::vector<double> values =
      values_of(evaluator->evaluate(make_trial(every_layer(), 0.1, 5), context));
  EXPECT_GT(values[kLatency], 0);
}

TEST(DeviceTraining, InheritsAsTheHostDoes) {
  Trial child = make_trial(every_layer(), 0.5, 6);
  const Trial parent = make_trial(every_layer(), 0.5, 5);
  RecordingContext trained;
  evaluate(small_batches(), parent, watched(), trained);
  child.proposal.start = trial::Inherit{0, parent.proposal.architecture, 1.0};
  const auto weights = std::make_shared<const std::vector<trial::NamedTensor>>(trained.kept);
  RecordingContext on_device;
  on_device.parents = weights;
  RecordingContext on_host;
  on_host.parents = weights;
  expect_close(evaluate(small_batches(), child, watched(), on_device),
               evaluate(small_batches(), child, nullptr, on_host), 5e-3);
}

/// Multiplies by a number that the host draws in every step.
class NoisyOp final : public LayerOp {
 public:
  at::Tensor reference(const Activations& inputs, bool training) override {
    return training ? inputs[0].mul(factor_) : inputs[0];
  }
  void begin_step(std::uint64_t seed) override { factor_ = 0.5 + static_cast<double>(seed % 1024) / 1024; }

 private:
  double factor_ = 1;
};

TEST(DeviceTraining, DoesNotRecordALayerThatDrawsOnTheHost) {
  register_layer_op("noisy", [](const space::Layer& /*layer*/, LayerTensors& /*tensors*/) {
    return std::unique_ptr<LayerOp>(std::make_unique<NoisyOp>());
  });
  const auto network =
      NetworkBuilder({2, 8, 8}).conv2d(8, 3).batch_norm().plain("noisy").relu().flatten().linear(6).build();
  TrainingOptions options = small_batches();
  options.optimizer.learning_rate = 1e-3;
  const Trial trial = make_trial(network, 8, 5);
  const auto accelerator = watched();
  const Result device = evaluate(options, trial, accelerator);
  EXPECT_EQ(accelerator->counts.captures, 0);
  expect_close(device, evaluate(options, trial, nullptr), 5e-3);
}

TEST(DeviceTraining, OfAGroupIsThatOfTheHostsGroup) {
  const Trial trial = make_trial(every_layer(), 1.5, 5);
  for (const std::size_t members : {2U, 3U, 4U}) {
    SCOPED_TRACE(std::to_string(members) + " members");
    const Result device = evaluate_together(small_batches(), trial, members, watched());
    expect_close(device, evaluate_together(small_batches(), trial, members, nullptr), 5e-3);
    expect_same(evaluate_together(small_batches(), trial, members, watched()), device);
  }
}

TEST(DeviceTraining, OfASynchronizedGroupIsThatOfTheHostsAndOfOneMember) {
  const Trial trial = make_trial(every_layer(), 1.5, 5);
  TrainingOptions options = small_batches();
  options.group.statistics = GroupOptions::Statistics::kSynchronized;
  const Result alone = evaluate(options, trial, watched());
  for (const std::size_t members : {2U, 3U, 4U}) {
    SCOPED_TRACE(std::to_string(members) + " members");
    const Result device = evaluate_together(options, trial, members, watched());
    expect_close(device, alone, 5e-3);
    expect_close(device, evaluate_together(options, trial, members, nullptr), 5e-3);
  }
}

TEST(DeviceTraining, OfAGroupHasTheSameBitsHoweverItsStateIsSharded) {
  const Trial trial = make_trial(every_layer(), 1.5, 5);
  TrainingOptions options = small_batches();
  options.optimizer.kind = OptimizerOptions::Kind::kAdam;
  const Result whole = evaluate_together(options, trial, 3, watched());
  for (const auto sharding : {GroupOptions::Sharding::kOptimizer, GroupOptions::Sharding::kGradients}) {
    options.group.sharding = sharding;
    expect_same(evaluate_together(options, trial, 3, watched()), whole);
  }
}

TEST(DeviceTraining, OfAGroupEndsForAllWithTheFailureOfOneMemberInTheMiddleOfAStep) {
  const Trial trial = make_trial(every_layer(), 1, 5);
  TrainingOptions options = small_batches();
  options.group.statistics = GroupOptions::Statistics::kSynchronized;
  options.group.sharding = GroupOptions::Sharding::kGradients;
  for (std::size_t faulty = 0; faulty < 3; ++faulty) {
    thread_local int gathers_left = 0;
    const auto accelerator = watched();
    accelerator->before_gather = [] {
      TORCH_CHECK_WITH(OutOfMemoryError, --gathers_left != 0, "no memory for a batch");
    };
    GroupRun run(3);
    run.evaluate(*make_evaluator(options, accelerator), trial,
                 [&](std::size_t member) { gathers_left = member == faulty ? 7 : -1; });
    for (const Outcome& outcome : run.outcomes) {
      ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
      EXPECT_EQ(std::get<Failure>(outcome).kind, trial::FailureKind::kOutOfMemory);
      EXPECT_EQ(reason_of(outcome), reason_of(run.outcomes[faulty]));
    }
  }
}

TEST(DeviceTraining, OfAGroupInBfloat16ShardsAndSynchronizesOnTheCpu) {
  const Trial trial = make_trial(test::wide_network(), 1.5, 5);
  TrainingOptions options = small_batches();
  options.precision = Precision::kBf16;
  options.group.statistics = GroupOptions::Statistics::kSynchronized;
  const Result whole = evaluate_together(options, trial, 2, nullptr);
  options.group.sharding = GroupOptions::Sharding::kGradients;
  expect_same(evaluate_together(options, trial, 2, nullptr), whole);
  EXPECT_NEAR(whole.values[kTrainLoss], evaluate(options, trial, nullptr).values[kTrainLoss], 0.1);
}

TEST(DeviceTraining, TrainsInBfloat16OnTheCpuWhereThatPays) {
  TrainingOptions options = small_batches();
  options.precision = Precision::kBf16;
  const Trial trial = make_trial(test::wide_network(), 1.5, 5);
  const Result half = evaluate(options, trial, nullptr);
  const Result full = evaluate(small_batches(), trial, nullptr);
  EXPECT_NE(half.values[kTrainLoss], full.values[kTrainLoss]);
  expect_close(half, full, 0.1);
  const Trial small = make_trial(every_layer(), 1.5, 5);
  expect_same(evaluate(options, small, nullptr), evaluate(small_batches(), small, nullptr));
}

TEST(DeviceTraining, SaysWhatAMachineCannotDo) {
  const auto expect_error = [](const TrainingOptions& options, std::shared_ptr<Accelerator> accelerator,
                               const char* text) {
    EXPECT_THAT([&] { make_evaluator(options, std::move(accelerator)); },
                ::testing::ThrowsMessage<UserError>(::testing::HasSubstr(text)));
  };
  TrainingOptions options = small_batches();
  options.precision = Precision::kTf32;
  expect_error(options, nullptr, "`training.precision` is tf32, which needs a GPU");
}

}  // namespace
}  // namespace skyline::train
