#include "skyline/train/layer_op.hpp"

#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"
#include "train/fixtures/train_fixtures.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/loading/training_kind.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::BarImages;
using test::conv_network;
using test::make_trial;
using test::RecordingContext;
using test::split_in_two;
using ::testing::HasSubstr;
using trial::Failure;
using trial::FailureKind;
using trial::Measurements;
using trial::Outcome;

enum Metric : std::size_t { kAccuracy, kValidationLoss, kTrainLoss, kLatency, kTestAccuracy, kSteps };

const std::shared_ptr<const store::Dataset>& bars() {
  static const std::shared_ptr<const store::Dataset> data =
      std::make_shared<BarImages>(space::Shape{1, 8, 8}, 6, 300, 60);
  return data;
}

TrainingOptions fast_options() {
  TrainingOptions options;
  options.batch = 16;
  options.optimizer.learning_rate = 0.01;
  options.latency = {2, 1, 3};
  return options;
}

std::unique_ptr<trial::Evaluator> make_evaluator(const TrainingOptions& options, bool latency = false) {
  return make_training_evaluator(options, Normalization::kStandard, bars(), split_in_two(203, 90), latency);
}

std::vector<double> values_of(const Outcome& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  EXPECT_EQ(failure, nullptr) << (failure == nullptr ? "" : failure->reason);
  const auto* measured = std::get_if<Measurements>(&outcome);
  return measured == nullptr ? std::vector<double>(6, -1) : measured->values;
}

space::Network small_network() {
  return conv_network({1, 8, 8}, 2, 3, 16, 6);
}

bool same_bits(const std::vector<double>& left, const std::vector<double>& right) {
  return left.size() == right.size() &&
         std::memcmp(left.data(), right.data(), left.size() * sizeof(double)) == 0;
}

bool same_bits(const std::vector<trial::NamedTensor>& left, const std::vector<trial::NamedTensor>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const auto& a, const auto& b) {
    return a.name == b.name && a.dims == b.dims && a.values.size() == b.values.size() &&
           std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0;
  });
}

TEST(TrainingEvaluator, LearnsToTellSimpleImagesApart) {
  const auto evaluator = make_evaluator(fast_options());
  RecordingContext context;
  const auto values = values_of(evaluator->evaluate(make_trial(small_network(), 8, 1), context));
  EXPECT_GT(values[kAccuracy], 0.95);
  EXPECT_LT(values[kTrainLoss], 0.3);
  EXPECT_LT(values[kValidationLoss], 0.5);
  EXPECT_EQ(values[kSteps], 8 * 13);
}

TEST(TrainingEvaluator, LearnsWithSgdAndMomentum) {
  TrainingOptions options = fast_options();
  options.optimizer.kind = OptimizerOptions::Kind::kSgd;
  options.optimizer.learning_rate = 0.1;
  RecordingContext context;
  const auto values =
      values_of(make_evaluator(options)->evaluate(make_trial(small_network(), 8, 1), context));
  EXPECT_GT(values[kAccuracy], 0.9);
}

TEST(TrainingEvaluator, MeasuresWhatItNames) {
  const auto evaluator = make_evaluator(fast_options());
  RecordingContext context;
  EXPECT_EQ(values_of(evaluator->evaluate(make_trial(small_network(), 0.1, 1), context)).size(),
            training_kind()
                .metrics(training_kind().keys->complete(testing::config_from_yaml("{}")),
                         store::TargetKind::kClasses)
                .size());
}

TEST(TrainingEvaluator, RefusesColoursWhereThereIsOneChannel) {
  TrainingOptions options = fast_options();
  options.augment.saturation = 0.4;
  EXPECT_EQ(
      testing::user_error_of([&] { make_evaluator(options); }),
      "`training.augment.saturation`: needs pixels with 3 channels (red, green, blue), and the data set "
      "has 1 of them");
}

TEST(TrainingEvaluator, HonoursFractionsOfAnEpochToTheStep) {
  // 203 samples in batches of 16: 13 steps an epoch, the last one with 11 samples.
  const auto evaluator = make_evaluator(fast_options());
  const auto steps = [&](double epochs) {
    RecordingContext context;
    return values_of(evaluator->evaluate(make_trial(small_network(), epochs, 1), context))[kSteps];
  };
  EXPECT_EQ(steps(0.0001), 1);
  EXPECT_EQ(steps(0.5), 7);
  EXPECT_EQ(steps(1), 13);
  EXPECT_EQ(steps(1.4), 18);
}

TEST(TrainingEvaluator, GivesTheSameBitsAloneAndBesideAnotherSlot) {
  const auto evaluator = make_evaluator(fast_options());
  const auto run = [&](std::uint64_t seed, RecordingContext& context) {
    context.wants = true;
    return values_of(evaluator->evaluate(make_trial(small_network(), 2, seed), context));
  };
  RecordingContext alone;
  const auto expected = run(5, alone);
  RecordingContext first;
  RecordingContext second;
  RecordingContext other;
  std::vector<double> first_values;
  std::vector<double> second_values;
  std::thread one([&] { first_values = run(5, first); });
  std::thread two([&] {
    run(6, other);
    second_values = run(5, second);
  });
  one.join();
  two.join();
  first_values[kLatency] = second_values[kLatency] = expected[kLatency];
  EXPECT_TRUE(same_bits(expected, first_values));
  EXPECT_TRUE(same_bits(expected, second_values));
  EXPECT_TRUE(same_bits(alone.kept, first.kept));
  EXPECT_TRUE(same_bits(alone.kept, second.kept));
  EXPECT_FALSE(same_bits(alone.kept, other.kept));
}

TEST(TrainingEvaluator, SaysInWhichStepTheLossDiverged) {
  TrainingOptions options = fast_options();
  options.optimizer.kind = OptimizerOptions::Kind::kSgd;
  options.optimizer.learning_rate = 1e38;
  const space::Network network =
      test::NetworkBuilder({1, 8, 8}).conv2d(8, 3).relu().conv2d(8, 3).relu().flatten().linear(6).build();
  RecordingContext context;
  const Outcome outcome = make_evaluator(options)->evaluate(make_trial(network, 4, 1), context);
  const auto* failure = std::get_if<Failure>(&outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->kind, FailureKind::kDiverged);
  EXPECT_EQ(failure->reason, "loss became NaN in step 2");
  EXPECT_FALSE(context.course.empty()) << "the curve up to there is what one looks for";
}

TEST(TrainingEvaluator, TurnsAnExceptionIntoAFailureWithItsReason) {
  space::Network network = test::NetworkBuilder({1, 8, 8}).plain("swirl").flatten().linear(6).build();
  RecordingContext context;
  const Outcome outcome = make_evaluator(fast_options())->evaluate(make_trial(network, 1, 1), context);
  const auto* failure = std::get_if<Failure>(&outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->kind, FailureKind::kException);
  EXPECT_EQ(failure->reason, "the trainer has no op for layers of kind `swirl`");
}

TEST(TrainingEvaluator, TurnsALibTorchErrorIntoOneLine) {
  space::Network network = test::NetworkBuilder({1, 8, 8}).flatten().linear(6).build();
  network.layers[1].tensors[0].dims = {6, 63};  // one feature too few
  RecordingContext context;
  const Outcome outcome = make_evaluator(fast_options())->evaluate(make_trial(network, 1, 1), context);
  const auto* failure = std::get_if<Failure>(&outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->kind, FailureKind::kException);
  EXPECT_NE(failure->reason.find("mat1 and mat2"), std::string::npos) << failure->reason;
  EXPECT_EQ(failure->reason.find('\n'), std::string::npos);
}

TEST(TrainingEvaluator, CallsAnAllocationThatFailsOutOfMemory) {
  space::Network network = test::NetworkBuilder({1, 8, 8}).flatten().linear(6).build();
  network.layers[1].tensors[0].dims = {std::int64_t{1} << 30, std::int64_t{1} << 30};
  RecordingContext context;
  const Outcome outcome = make_evaluator(fast_options())->evaluate(make_trial(network, 1, 1), context);
  const auto* failure = std::get_if<Failure>(&outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->kind, FailureKind::kOutOfMemory) << failure->reason;
}

TEST(TrainingEvaluator, MeasuresLatencyOnlyWhenAsked) {
  RecordingContext context;
  auto values = values_of(
      make_evaluator(fast_options(), false)->evaluate(make_trial(small_network(), 0.1, 1), context));
  EXPECT_TRUE(std::isnan(values[kLatency]));
  EXPECT_EQ(context.times.latency_s, 0);
  values =
      values_of(make_evaluator(fast_options(), true)->evaluate(make_trial(small_network(), 0.1, 1), context));
  EXPECT_GT(values[kLatency], 0);
  EXPECT_LE(values[kLatency], 1e3 * context.times.latency_s);
}

TEST(TrainingEvaluator, KeepsTheMedianLatencyInTheCourseBecauseTheResultIsTheLeast) {
  RecordingContext context;
  const auto values =
      values_of(make_evaluator(fast_options(), true)->evaluate(make_trial(small_network(), 0.1, 1), context));
  EXPECT_GE(test::value_of(context.course.back(), "latency_median_ms"), values[kLatency]);
}

TEST(TrainingEvaluator, MeasuresTheLatencyOfNetworksOnceMoreIfTheRunMeasuresIt) {
  const std::vector<trial::Trial> trials{make_trial(small_network(), 1, 1),
                                         make_trial(conv_network({1, 8, 8}, 6, 5, 64, 6), 1, 1)};
  const auto evaluator = make_evaluator(fast_options(), true);
  const auto begun = std::chrono::steady_clock::now();
  std::vector<double> latencies = evaluator->latencies_ms(trials);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(2 * 50))
      << "50 ms for each network, since another program may have the processor for a moment";
  ASSERT_EQ(latencies.size(), 2U);
  EXPECT_GT(latencies[0], 0);
  // Or for so long that the small network's were all disturbed.
  for (int again = 0; again < 5 && latencies[1] <= latencies[0]; ++again)
    latencies = evaluator->latencies_ms(trials);
  EXPECT_GT(latencies[1], latencies[0]) << "some hundred times the work";
  EXPECT_TRUE(make_evaluator(fast_options(), false)->latencies_ms(trials).empty());
}

TEST(TrainingEvaluator, KeepsTheAnswersOfAFullTrainingBesideItsWeights) {
  const auto evaluator = make_evaluator(fast_options());
  const auto answers_of = [&](trial::Phase phase, bool wanted) {
    RecordingContext context;
    context.wants = wanted;
    values_of(evaluator->evaluate(make_trial(small_network(), 1, 1, phase), context));
    return context.answers;
  };
  EXPECT_THAT(answers_of(trial::Phase::kFinal, true), HasSubstr("\"samples\": 60"));
  EXPECT_EQ(answers_of(trial::Phase::kFinal, false), "");
  EXPECT_EQ(answers_of(trial::Phase::kSearch, true), "");
}

TEST(TrainingEvaluator, ScoresATrialOfTheSearchOnAPartOfTheValidationSetAndAFullTrainingOnAll) {
  const auto values_with = [](store::SplitIndices split, trial::Phase phase) {
    const auto evaluator =
        make_training_evaluator(fast_options(), Normalization::kStandard, bars(), std::move(split), false);
    RecordingContext context;
    return values_of(evaluator->evaluate(make_trial(small_network(), 1, 1, phase), context));
  };
  const store::SplitIndices all = split_in_two(203, 90);
  store::SplitIndices part = all;
  part.scored = {all.validation.begin(), all.validation.begin() + 17};
  store::SplitIndices few = all;
  few.validation = part.scored;
  constexpr std::size_t kAccuracy = 0;
  constexpr std::size_t kLoss = 1;
  for (const std::size_t metric : {kAccuracy, kLoss}) {
    EXPECT_EQ(values_with(part, trial::Phase::kSearch)[metric],
              values_with(few, trial::Phase::kSearch)[metric]);
    EXPECT_EQ(values_with(part, trial::Phase::kFinal)[metric],
              values_with(all, trial::Phase::kFinal)[metric]);
  }
  EXPECT_NE(values_with(part, trial::Phase::kSearch)[kLoss], values_with(all, trial::Phase::kSearch)[kLoss]);
}

TEST(TrainingEvaluator, TouchesTheTestSetInFinalTrialsOnly) {
  const auto evaluator = make_evaluator(fast_options());
  RecordingContext context;
  auto values = values_of(evaluator->evaluate(make_trial(small_network(), 8, 1), context));
  EXPECT_TRUE(std::isnan(values[kTestAccuracy]));
  values = values_of(evaluator->evaluate(make_trial(small_network(), 8, 1, trial::Phase::kFinal), context));
  EXPECT_GT(values[kTestAccuracy], 0.9);
}

TEST(TrainingEvaluator, LeavesValidationOutWithoutValidationSamples) {
  const auto evaluator =
      make_training_evaluator(fast_options(), Normalization::kUnit, bars(), split_in_two(64, 0), false);
  RecordingContext context;
  const auto values = values_of(evaluator->evaluate(make_trial(small_network(), 1, 1), context));
  EXPECT_TRUE(std::isnan(values[kAccuracy]));
  EXPECT_TRUE(std::isnan(values[kValidationLoss]));
  EXPECT_FALSE(std::isnan(values[kTrainLoss]));
}

TEST(TrainingEvaluator, ValidatesWithRunningStatistics) {
  // One validation sample alone: with the batch's own statistics its logits would not depend on the trained
  // running ones, and its loss would differ from that of the same sample among others.
  const auto loss_of = [&](std::size_t validation) {
    const auto evaluator = make_training_evaluator(fast_options(), Normalization::kUnit, bars(),
                                                   split_in_two(128, validation), false);
    RecordingContext context;
    return values_of(evaluator->evaluate(make_trial(small_network(), 2, 1), context))[kValidationLoss];
  };
  const double first = loss_of(1);
  const double second = 2 * loss_of(2) - first;
  const double third = 3 * loss_of(3) - first - second;
  EXPECT_GT(second, 0);
  EXPECT_GT(third, 0);
  EXPECT_NEAR(first + second + third, 3 * loss_of(3), 1e-9);
}

TEST(TrainingEvaluator, AugmentsTheTrainingImagesOnly) {
  // A learning rate that moves nothing: validation sees the same network, training other images.
  TrainingOptions options = fast_options();
  options.optimizer.learning_rate = 1e-30;
  const space::Network network =
      test::NetworkBuilder({1, 8, 8}).conv2d(8, 3).relu().flatten().linear(6).build();
  const auto values_with = [&](AugmentOptions augment, trial::Phase phase) {
    options.augment = augment;
    RecordingContext context;
    return values_of(make_evaluator(options)->evaluate(make_trial(network, 1, 1, phase), context));
  };
  const auto plain = values_with({}, trial::Phase::kFinal);
  for (const AugmentOptions& augment :
       {AugmentOptions{2, false, 0}, AugmentOptions{0, true, 0}, AugmentOptions{0, false, 3}}) {
    const auto changed = values_with(augment, trial::Phase::kFinal);
    EXPECT_NE(changed[kTrainLoss], plain[kTrainLoss]);
    EXPECT_EQ(changed[kValidationLoss], plain[kValidationLoss]);
    EXPECT_EQ(changed[kTestAccuracy], plain[kTestAccuracy]);
  }
}

TEST(TrainingEvaluator, HandsOverWeightsByLayerNameWhenAsked) {
  const auto evaluator = make_evaluator(fast_options());
  RecordingContext context;
  evaluator->evaluate(make_trial(small_network(), 0.1, 1), context);
  EXPECT_TRUE(context.kept.empty());
  context.wants = true;
  evaluator->evaluate(make_trial(small_network(), 0.1, 1), context);
  std::vector<std::string> names;
  for (const auto& tensor : context.kept) names.push_back(tensor.name);
  const std::vector<std::string> expected = {"conv2d_0.weight",           "conv2d_0.bias",
                                             "batch_norm_1.weight",       "batch_norm_1.bias",
                                             "batch_norm_1.running_mean", "batch_norm_1.running_var",
                                             "conv2d_3.weight",           "conv2d_3.bias",
                                             "batch_norm_4.weight",       "batch_norm_4.bias",
                                             "batch_norm_4.running_mean", "batch_norm_4.running_var",
                                             "linear_7.weight",           "linear_7.bias"};
  EXPECT_EQ(names, expected);
  EXPECT_EQ(context.kept[6].dims, (std::vector<std::int64_t>{16, 16, 3, 3}));
}

TEST(TrainingEvaluator, StopsSoonWhenAsked) {
  RecordingContext context;
  context.stop_after_polls = 5;
  const Outcome outcome =
      make_evaluator(fast_options())->evaluate(make_trial(small_network(), 100, 1), context);
  const auto* failure = std::get_if<Failure>(&outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->kind, FailureKind::kStopped);
  EXPECT_EQ(failure->reason, "stopped on request in step 5 of 1300");
}

TEST(TrainingEvaluator, SetsATrialUpInMillisecondsWhenWarm) {
  const auto evaluator = make_evaluator(fast_options(), true);
  const space::Network network = conv_network({1, 8, 8}, 6, 3, 32, 6);
  double best_s = 1;
  for (int i = 0; i < 200 && (i < 5 || best_s >= 0.005); ++i) {  // on a busy machine most are disturbed
    RecordingContext context;
    values_of(evaluator->evaluate(make_trial(network, 0.1, 1), context));
    EXPECT_GT(context.times.train_s, 0);
    EXPECT_GT(context.times.validate_s, 0);
    best_s = std::min(best_s, context.times.setup_s);
  }
  EXPECT_LT(best_s, 0.005);
}

TEST(TrainingEvaluator, PredictsHigherCostForMoreWork) {
  const auto evaluator = make_evaluator(fast_options());
  const auto cost = [&](int layers, double epochs) {
    return evaluator->predicted_cost(make_trial(conv_network({1, 8, 8}, layers, 3, 16, 6), epochs, 1));
  };
  EXPECT_GT(cost(1, 0.01), 0);
  EXPECT_GT(cost(4, 1), cost(2, 1));
  EXPECT_GT(cost(2, 2), cost(2, 1));
}

TEST(TrainingEvaluator, PredictsTheCostOfRecalibrationAndOfJudgedEpochs) {
  const auto cost = [&](const TrainingOptions& options, trial::Phase phase) {
    return make_evaluator(options)->predicted_cost(
        make_trial(conv_network({1, 8, 8}, 2, 3, 16, 6), 4, 1, phase));
  };
  const TrainingOptions plain = fast_options();
  TrainingOptions judging = plain;
  judging.full.patience = 4;
  TrainingOptions recalibrating = judging;
  recalibrating.recalibrate = 1000;
  const double search = cost(plain, trial::Phase::kSearch);
  EXPECT_EQ(cost(judging, trial::Phase::kSearch), search);
  EXPECT_GT(cost(judging, trial::Phase::kFinal), cost(plain, trial::Phase::kFinal));
  const double once = cost(recalibrating, trial::Phase::kSearch) - search;
  const double four_times = cost(recalibrating, trial::Phase::kFinal) - cost(judging, trial::Phase::kFinal);
  EXPECT_GT(once, 0);
  EXPECT_NEAR(four_times, 4 * once, 1e-6 * four_times);
}

TEST(LayerOps, KnowAllBuiltInKinds) {
  EXPECT_THAT(layer_op_kinds(),
              ::testing::IsSupersetOf({"batch_norm", "conv2d", "dropout", "flatten", "global_average_pool",
                                       "linear", "max_pool", "relu"}));
}

TEST(LayerOps, RefuseASecondOpOfAKind) {
  EXPECT_THROW(register_layer_op("relu", nullptr), std::logic_error);
}

}  // namespace
}  // namespace skyline::train
