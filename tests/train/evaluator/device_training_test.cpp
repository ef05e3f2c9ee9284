// Whole trials on a device, on the CPU behind the seam of accelerators: what only a device does.
#include "skyline/train/layer_op.hpp"

#include "train/fixtures/trainings.hpp"
#include "train/fixtures/watched_accelerator.hpp"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::evaluator_of;
using test::every_layer_trial;
using test::GroupRun;
using test::make_trial;
using test::NetworkBuilder;
using test::sgd_options;
using test::Training;
using test::TrialEnd;
using test::WatchedAccelerator;
using trial::Failure;
using trial::Outcome;
using trial::Trial;

std::shared_ptr<WatchedAccelerator> watched() {
  return std::make_shared<WatchedAccelerator>();
}

TEST(DeviceTraining, RecordsALongTrialWithoutAnEffectOnItsResult) {
  constexpr int kTrained = 208;  // steps
  const auto recording = watched();
  const auto refusing = std::make_shared<WatchedAccelerator>(true);
  const TrialEnd recorded = Training({1, recording}, sgd_options()).run(every_layer_trial(kTrained));
  const TrialEnd plain = Training({1, refusing}, sgd_options()).run(every_layer_trial(kTrained));
  // Three steps as they are, and the eight smaller last batches.
  EXPECT_EQ(recording->counts.replays, kTrained - 8 - 3);
  EXPECT_EQ(refusing->counts.replays, 0);
  EXPECT_EQ(refusing->counts.gathers, kTrained + 1);  // and a batch of validation
  expect_same(recorded, plain);
}

TEST(DeviceTraining, NamesTheStepInWhichTheLossDiverged) {
  for (const auto& [rate, step] : {std::pair{1e38, 2}, std::pair{1e9, 3}}) {
    TrainingOptions options = sgd_options();
    options.optimizer.learning_rate = rate;
    EXPECT_EQ(Training({1, watched()}, options).run(every_layer_trial(26)).reason,
              "loss became NaN in step " + std::to_string(step));
  }
}

TEST(DeviceTraining, MeasuresALatency) {
  test::RecordingContext context;
  const Outcome outcome =
      evaluator_of(sgd_options(), true, watched())->evaluate(every_layer_trial(3), context);
  EXPECT_GT(std::get<trial::Measurements>(outcome).values[test::kLatency], 0);
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
  TrainingOptions options = sgd_options();
  options.optimizer.learning_rate = 1e-3;
  const Trial trial = make_trial(network, 8, 5);
  const auto accelerator = watched();
  const TrialEnd device = Training({1, accelerator}, options).run(trial);
  EXPECT_EQ(accelerator->counts.captures, 0);
  expect_close(device, Training({1}, options).run(trial), 1e-3);
}

TEST(DeviceTraining, OfAGroupEndsForAllWithTheFailureOfOneMemberInTheMiddleOfAStep) {
  const TrainingOptions options =
      test::with_group(sgd_options(), test::Statistics::kSynchronized, test::Sharding::kGradients);
  for (std::size_t faulty = 0; faulty < 3; ++faulty) {
    thread_local int gathers_left = 0;
    const auto accelerator = watched();
    accelerator->before_gather = [] {
      TORCH_CHECK_WITH(OutOfMemoryError, --gathers_left != 0, "no memory for a batch");
    };
    GroupRun run(3);
    run.evaluate(*evaluator_of(options, false, accelerator), every_layer_trial(26),
                 [&](std::size_t member) { gathers_left = member == faulty ? 7 : -1; });
    for (const Outcome& outcome : run.outcomes) {
      ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
      EXPECT_EQ(std::get<Failure>(outcome).kind, trial::FailureKind::kOutOfMemory);
      EXPECT_EQ(std::get<Failure>(outcome).reason, std::get<Failure>(run.outcomes[faulty]).reason);
    }
  }
}

TEST(DeviceTraining, TrainsInBfloat16OnTheCpuWhereThatPays) {
  TrainingOptions options = sgd_options();
  options.precision = Precision::kBf16;
  const Trial trial = make_trial(test::wide_network(), 1.5, 5);
  const TrialEnd half = Training({1}, options).run(trial);
  const TrialEnd full = Training({1}, sgd_options()).run(trial);
  EXPECT_NE(half.values[test::kTrainLoss], full.values[test::kTrainLoss]);
  expect_close(half, full, 0.01);
  expect_same(Training({1}, options).run(every_layer_trial(39)),
              Training({1}, sgd_options()).run(every_layer_trial(39)));
}

TEST(DeviceTraining, SaysWhatAMachineCannotDo) {
  TrainingOptions options = sgd_options();
  options.precision = Precision::kTf32;
  EXPECT_THAT([&] { evaluator_of(options); }, ::testing::ThrowsMessage<UserError>(::testing::HasSubstr(
                                                  "`training.precision` is tf32, which needs a GPU")));
}

}  // namespace
}  // namespace skyline::train
