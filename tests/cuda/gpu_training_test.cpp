// A trial gives on a GPU what it gives on the CPU, within the rounding of its sums.
#include "cuda/gpu_fixture.hpp"
#include "train/fixtures/learner_fixtures.hpp"

#include <gmock/gmock.h>

namespace skyline::train {
namespace {

using ::testing::DoubleNear;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr space::Shape kShape{3, 12, 12};
enum Metric : std::size_t { kAccuracy, kValidationLoss, kTrainLoss };

class GpuTraining : public test::OnTheGpu {
 protected:
  std::unique_ptr<trial::Evaluator> make_evaluator(const TrainingOptions& options, bool on_gpu) {
    const DeviceUse use = on_gpu ? DeviceUse{gpu(), 0} : DeviceUse{};
    return make_training_evaluator(options, Normalization::kStandard, data_, test::split_in_two(400, 100),
                                   false, use);
  }

  static std::vector<double> measure(trial::Evaluator& evaluator, double epochs, std::uint64_t seed) {
    test::RecordingContext context;
    return measure(evaluator, test::make_trial(test::conv_network(kShape, 2, 3, 16, 6), epochs, seed),
                   context);
  }

  static std::vector<double> measure(trial::Evaluator& evaluator, const trial::Trial& trial,
                                     test::RecordingContext& context) {
    const trial::Outcome outcome = evaluator.evaluate(trial, context);
    const auto* failure = std::get_if<trial::Failure>(&outcome);
    EXPECT_EQ(failure, nullptr) << failure->reason;
    return failure == nullptr ? std::get<trial::Measurements>(outcome).values : std::vector<double>(6, -1);
  }

  /// The measurements of a group of one, on NCCL: it allows one member a device.
  std::vector<double> measure_together(const TrainingOptions& options, bool on_gpu = true) {
    test::GroupRun run(1);
    run.evaluate(*make_evaluator(options, on_gpu),
                 test::make_trial(test::conv_network(kShape, 2, 3, 16, 6), 10, 1));
    const auto* failure = std::get_if<trial::Failure>(&run.outcomes[0]);
    EXPECT_EQ(failure, nullptr) << failure->reason;
    return failure == nullptr ? std::get<trial::Measurements>(run.outcomes[0]).values
                              : std::vector<double>(6, -1);
  }

  static std::shared_ptr<Accelerator> gpu() {
    std::string reason;
    return load_accelerator(reason);
  }

  /// Adam would scale up what rounding leaves of small gradients.
  static TrainingOptions steady() {
    TrainingOptions options;
    options.batch = 16;
    options.optimizer.kind = OptimizerOptions::Kind::kSgd;
    options.optimizer.learning_rate = 0.02;
    return options;
  }

  static TrainingOptions options() {
    TrainingOptions options;
    options.batch = 16;
    options.optimizer.learning_rate = 3e-3;
    return options;
  }

 private:
  std::shared_ptr<const store::Dataset> data_ = std::make_shared<test::BarImages>(kShape, 6, 500, 60);
};

TEST_F(GpuTraining, OfAFewStepsGivesTheCpusLosses) {
  for (const OptimizerOptions::Kind kind : {OptimizerOptions::Kind::kAdam, OptimizerOptions::Kind::kSgd}) {
    TrainingOptions few = options();
    few.optimizer.kind = kind;
    few.augment = {.crop = 1, .flip = true, .cutout = 2};
    const auto expected = measure(*make_evaluator(few, false), 0.2, 1);
    const auto values = measure(*make_evaluator(few, true), 0.2, 1);
    EXPECT_THAT(values[kTrainLoss], DoubleNear(expected[kTrainLoss], 5e-3));
    EXPECT_THAT(values[kValidationLoss], DoubleNear(expected[kValidationLoss], 2e-2));
  }
}

TEST_F(GpuTraining, ThatIsRecordedLearnsAsWellAsOnTheCpu) {
  const auto expected = measure(*make_evaluator(options(), false), 20, 1);
  const auto values = measure(*make_evaluator(options(), true), 20, 1);
  EXPECT_GT(values[kAccuracy], 0.9);
  EXPECT_THAT(values[kAccuracy], DoubleNear(expected[kAccuracy], 0.05));
}

TEST_F(GpuTraining, OfSeveralTrialsAtOnceLeavesEachItsResult) {
  const auto evaluator = make_evaluator(options(), true);
  std::vector<double> losses(4);
  std::vector<std::thread> slots;
  for (std::size_t slot = 0; slot < losses.size(); ++slot) {
    slots.emplace_back([&, slot] { losses[slot] = measure(*evaluator, 12, slot)[kTrainLoss]; });
  }
  for (std::thread& slot : slots) slot.join();
  for (std::size_t slot = 0; slot < losses.size(); ++slot) {
    EXPECT_THAT(losses[slot], DoubleNear(measure(*evaluator, 12, slot)[kTrainLoss], 0.02));
  }
}

TEST_F(GpuTraining, OfAGroupIsTheSameHoweverItsStateIsSharded) {
  TrainingOptions sharded = options();
  const auto whole = measure_together(sharded);
  EXPECT_GT(whole[kAccuracy], 0.8);
  for (const auto sharding : {GroupOptions::Sharding::kOptimizer, GroupOptions::Sharding::kGradients}) {
    sharded.group.sharding = sharding;
    EXPECT_THAT(measure_together(sharded)[kTrainLoss], DoubleNear(whole[kTrainLoss], 1e-3));
  }
}

TEST_F(GpuTraining, OfAGroupWithManyBucketsGoesOnFromAStateWithAnotherSharding) {
  using Sharding = GroupOptions::Sharding;
  TrainingOptions options = steady();
  const test::GroupEnd whole = test::train_group(options, 1, {}, {}, {.steps = 26, .accelerator = gpu()});
  Sharding before = Sharding::kNone;
  for (const Sharding after : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kNone}) {
    SCOPED_TRACE("sharding " + std::to_string(static_cast<int>(after)));
    options.group.sharding = std::exchange(before, after);
    const test::GroupEnd first =
        test::train_group(options, 1, test::kSmallBuckets, test::soon(), {.steps = 10, .accelerator = gpu()});
    trial::TrainingState state = first.states[0];
    state.arrays.resize(2);
    options.group.sharding = after;
    const test::GroupEnd second =
        test::train_group(options, 1, test::kSmallBuckets, test::soon(),
                          {.first_step = 10, .steps = 16, .start = &state, .accelerator = gpu()});
    std::vector<double> losses = first.losses;
    losses.insert(losses.end(), second.losses.begin(), second.losses.end());
    EXPECT_THAT(losses, Pointwise(DoubleNear(2e-3), whole.losses));
    EXPECT_THAT(second.states[0].arrays[0].values,
                Pointwise(FloatNear(2e-3F), whole.states[0].arrays[0].values));
  }
}

TEST_F(GpuTraining, OfAGroupWithSynchronizedStatisticsIsThatOfTheCpu) {
  TrainingOptions options = steady();
  options.batch = 4;
  options.group.statistics = GroupOptions::Statistics::kSynchronized;
  const auto expected = test::train_group(options, 1, {}, {}, {.steps = 5}).losses;
  const auto values = test::train_group(options, 1, {}, {}, {.steps = 5, .accelerator = gpu()}).losses;
  EXPECT_THAT(values, Pointwise(DoubleNear(5e-3), expected));
  const auto recorded =
      test::train_group(options, 1, {}, test::soon(), {.steps = 12, .accelerator = gpu()}).losses;
  const auto unrecorded = test::train_group(options, 1, {}, {}, {.steps = 12, .accelerator = gpu()}).losses;
  EXPECT_THAT(recorded, Pointwise(DoubleNear(1e-3), unrecorded));
}

TEST_F(GpuTraining, StartsAChildFromItsParentsWeights) {
  TrainingOptions inheriting = options();
  inheriting.inherit = true;
  const trial::Trial parent = test::make_trial(test::conv_network(kShape, 2, 3, 16, 6), 20, 1);
  test::RecordingContext parents_context;
  parents_context.wants = true;
  const auto before = measure(*make_evaluator(inheriting, true), parent, parents_context);
  trial::Trial child = test::make_trial(test::conv_network(kShape, 3, 3, 24, 6), 0.01, 2);  // one step
  child.proposal.start = trial::Inherit{parent.number, parent.proposal.architecture, 1};
  test::RecordingContext context;
  context.parents = std::make_shared<const std::vector<trial::NamedTensor>>(std::move(parents_context.kept));
  const auto on_device = measure(*make_evaluator(inheriting, true), child, context);
  const auto on_host = measure(*make_evaluator(inheriting, false), child, context);
  EXPECT_GT(before[kAccuracy], 0.9);
  EXPECT_THAT(on_device[kTrainLoss], DoubleNear(on_host[kTrainLoss], 1e-2));
  EXPECT_THAT(on_device[kValidationLoss], DoubleNear(on_host[kValidationLoss], 5e-2));
}

TEST_F(GpuTraining, LeavesNoMemoryBehindTrialAfterTrial) {
  const auto evaluator = make_evaluator(options(), true);
  measure(*evaluator, 12, 0);
  measure(*evaluator, 12, 1);
  const std::size_t before = reserved_bytes();
  for (std::uint64_t seed = 2; seed < 20; ++seed) measure(*evaluator, 12, seed);
  EXPECT_LE(reserved_bytes(), before);
}

}  // namespace
}  // namespace skyline::train
