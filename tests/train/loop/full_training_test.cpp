#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"
#include "train/fixtures/group_fixtures.hpp"
#include "train/fixtures/step_fixtures.hpp"
#include "train/loop/epoch_choice.hpp"
#include "train/scoring/loss_kinds.hpp"

#include <cmath>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::conv_network;
using test::make_trial;
using test::RecordingContext;

using Keep = FinalTrainingOptions::Keep;

constexpr int kStepsOfEpoch = 13;  // 203 samples in batches of 16

TrainingOptions quick_options() {
  TrainingOptions options;
  options.batch = 16;
  options.optimizer.learning_rate = 0.01;
  return options;
}

struct FullResult {
  double accuracy;
  double validation_loss;
  double train_loss;
  double steps;
  std::vector<trial::NamedTensor> weights;
  std::vector<trial::CurvePoint> course;
};

FullResult train_fully(const TrainingOptions& options, double epochs,
                       trial::Phase phase = trial::Phase::kFinal) {
  const auto evaluator = make_training_evaluator(options, Normalization::kStandard, test::bars(),
                                                 test::split_in_two(203, 90), false);
  RecordingContext context;
  context.wants = true;
  const auto outcome =
      evaluator->evaluate(make_trial(conv_network({2, 8, 8}, 2, 3, 8, 6), epochs, 5, phase), context);
  const std::vector<double>& values = std::get<trial::Measurements>(outcome).values;
  return {values[0], values[1], values[2], values[5], context.kept, context.course};
}

bool same_weights(const FullResult& left, const FullResult& right) {
  return std::ranges::equal(left.weights, right.weights,
                            [](const auto& a, const auto& b) { return a.values == b.values; });
}

TEST(EpochChoice, PrefersAccuracyThenLoss) {
  EpochChoice choice(1, MetricKind::Better::kHigher);
  EXPECT_TRUE(choice.judge(10, {{0.5}, 1.0}));
  EXPECT_FALSE(choice.judge(20, {{0.4}, 0.1}));
  EXPECT_TRUE(choice.judge(30, {{0.5}, 0.9}));
  EXPECT_FALSE(choice.judge(40, {{0.5}, 0.9}));
  EXPECT_FALSE(choice.judge(50, {{0.5}, 1.9}));
  EXPECT_EQ(choice.epochs_waited(), 2);
  std::vector<EpochChoice::Number> numbers;
  choice.save(numbers);
  EpochChoice again(1, MetricKind::Better::kHigher);
  ASSERT_TRUE(again.load(numbers));
  EXPECT_EQ(again.judged_step(), 50);
  EXPECT_EQ(again.last().loss, 1.9);
  EXPECT_EQ(again.best().loss, 0.9);
  EXPECT_FALSE(again.judge(60, {{0.5}, 0.9}));
  EXPECT_EQ(again.epochs_waited(), 3);
}

TEST(EpochChoice, PrefersTheLowerFirstMetricWhereThatIsBetter) {
  EpochChoice choice(2, MetricKind::Better::kLower);
  EXPECT_TRUE(choice.judge(10, {{3, 0.1}, 1}));
  EXPECT_FALSE(choice.judge(20, {{4, 0.9}, 0.5}));
  std::vector<EpochChoice::Number> numbers;
  choice.save(numbers);
  EpochChoice again(2, MetricKind::Better::kLower);
  ASSERT_EQ(numbers.size(), again.numbers());
  ASSERT_TRUE(again.load(numbers));
  EXPECT_EQ(again.best().metrics, (std::vector<double>{3, 0.1}));
  EXPECT_TRUE(again.judge(30, {{2, 0.1}, 9}));
}

TEST(EpochChoice, TakesNoScoreThatIsNoNumber) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EpochChoice choice(1, MetricKind::Better::kHigher);
  EXPECT_TRUE(choice.judge(10, {{kNan}, 1}));
  EXPECT_TRUE(choice.judge(20, {{0.4}, 1}));
  EXPECT_FALSE(choice.judge(30, {{0.9}, kNan}));
  EXPECT_FALSE(choice.judge(40, {{kNan}, 0.1}));
  EXPECT_TRUE(choice.judge(50, {{0.5}, 1}));
}

TEST(FullTraining, KeepsTheWeightsOfItsBestEpoch) {
  TrainingOptions options = quick_options();
  options.optimizer.learning_rate = 2;  // so large in the end that the last epoch is not the best
  options.schedule.warmup = 6;
  options.full.keep = Keep::kBest;
  const FullResult best = train_fully(options, 6);
  EpochChoice choice(1, MetricKind::Better::kHigher);
  double epoch = 0;
  for (const trial::CurvePoint& point : best.course) {
    const double loss = test::value_of(point, "validation_loss");
    const double accuracy = test::value_of(point, "validation_accuracy");
    if (std::isnan(loss)) continue;
    if (choice.judge(point.step, {{accuracy}, loss})) {
      epoch = static_cast<double>(point.step) / kStepsOfEpoch;
      EXPECT_LE(accuracy, best.accuracy);
    }
  }
  EXPECT_EQ(best.steps, 6 * kStepsOfEpoch);
  ASSERT_LT(epoch, 6) << "the test needs a worse last epoch";
  options.full.keep = Keep::kLast;
  EXPECT_TRUE(same_weights(best, train_fully(options, epoch)));
  EXPECT_LT(train_fully(options, 6).accuracy, best.accuracy);
}

TEST(FullTraining, KeepsItsBestEpochIfItDivergesLater) {
  TrainingOptions options = quick_options();
  options.schedule = {.decay = ScheduleOptions::Decay::kStep, .every = 1, .factor = 1e37};
  options.full.keep = Keep::kBest;
  const FullResult diverged = train_fully(options, 4);
  EXPECT_LT(diverged.steps, 4 * kStepsOfEpoch);
  EXPECT_TRUE(std::isfinite(diverged.train_loss));
  EXPECT_TRUE(same_weights(diverged, train_fully(quick_options(), 1)));
  options.full.keep = Keep::kLast;
  EXPECT_THROW(train_fully(options, 4), std::bad_variant_access) << "its last epoch is nothing to keep";
}

TEST(FullTraining, EndsWhenNoEpochIsBetterForLong) {
  TrainingOptions options = quick_options();
  options.optimizer.learning_rate = 1e-12;
  options.recalibrate = 5;  // else running statistics still get better
  options.full.patience = 2;
  EXPECT_EQ(train_fully(options, 50).steps, 3 * kStepsOfEpoch);
  EXPECT_EQ(train_fully(options, 5, trial::Phase::kSearch).steps, 5 * kStepsOfEpoch);
}

TEST(FullTraining, ScoresNoEpochTwice) {
  const auto polls = [](const TrainingOptions& options, trial::Phase phase) {
    const auto evaluator = make_training_evaluator(options, Normalization::kStandard, test::bars(),
                                                   test::split_in_two(203, 90), false);
    RecordingContext context;
    evaluator->evaluate(make_trial(conv_network({2, 8, 8}, 2, 3, 8, 6), 2, 5, phase), context);
    return context.polls();
  };
  const int plain = polls(quick_options(), trial::Phase::kFinal);
  const int scoring = polls(quick_options(), trial::Phase::kSearch) - 2 * kStepsOfEpoch;
  for (const Keep keep : {Keep::kLast, Keep::kBest}) {
    TrainingOptions options = quick_options();
    options.full = {.keep = keep, .patience = 9};
    EXPECT_EQ(polls(options, trial::Phase::kFinal), plain + scoring);
  }
}

TEST(FullTraining, TestsTheAverageOfItsWeights) {
  TrainingOptions options = quick_options();
  const FullResult plain = train_fully(options, 2);
  options.full.average = 0.9;
  const FullResult averaged = train_fully(options, 2);
  EXPECT_EQ(plain.train_loss, averaged.train_loss);
  EXPECT_FALSE(same_weights(plain, averaged));
  EXPECT_TRUE(same_weights(train_fully(options, 2, trial::Phase::kSearch),
                           train_fully(quick_options(), 2, trial::Phase::kSearch)));
}

TEST(FullTraining, AveragesByTheDefinition) {
  const space::Network network = conv_network({1, 8, 8}, 1, 3, 8, 5);
  test::HostStep step(network, test::sgd(0.1, 0.9), 3);
  step.step_of().begin_average();
  std::vector<float> average(step.parameters().memory().begin(), step.parameters().memory().end());
  for (const float ema_weight : {0.9F, 0.5F, 0.25F}) {
    const test::Samples samples = test::random_samples(network.input, 6, 5, 1);
    step.set_ema_weight(ema_weight);
    step.step(samples.images, samples.labels);
    const auto now = step.parameters().memory();
    for (std::size_t i = 0; i < average.size(); ++i) average[i] += ema_weight * (now[i] - average[i]);
  }
  step.step_of().swap_average();
  const auto ours = step.parameters().memory();
  EXPECT_LT(test::relative_difference({ours.begin(), ours.end()}, average), 1e-6);
}

TEST(FullTraining, RefusesToJudgeEpochsWithoutAValidationSet) {
  TrainingOptions options = quick_options();
  options.full.keep = Keep::kBest;
  EXPECT_EQ(
      testing::user_error_of([&] {
        make_training_evaluator(options, Normalization::kStandard, test::bars(), {{0, 1, 2}, {}}, false);
      }),
      "`training.full`: `keep: best` and `patience` need a validation set, and `data.validation` is 0");
}

TEST(ClassWeights, BalanceTheClassesThatHaveSamples) {
  store::SplitIndices two_of_six;
  for (std::int64_t i = 0; i < 200; ++i) {
    if (i % 6 < 2) (i < 150 ? two_of_six.train : two_of_six.validation).push_back(i);
  }
  const auto train_loss = [&](const std::string& section) {
    TrainingOptions options = quick_options();
    options.loss = LossOrMetric{
        "cross_entropy", find_loss("cross_entropy")->keys->complete(testing::config_from_yaml(section))};
    RecordingContext context;
    const auto outcome =
        make_training_evaluator(options, Normalization::kStandard, test::bars(), two_of_six, false)
            ->evaluate(make_trial(conv_network({2, 8, 8}, 2, 3, 8, 6), 2, 5), context);
    return std::get<trial::Measurements>(outcome).values[2];
  };
  const double equal = train_loss("{}");
  EXPECT_NEAR(train_loss("{class_weights: balanced}"), equal, 1e-4 * equal);
}

TEST(Recalibration, MakesStatisticsThoseOfTheWeightsAsTheyAre) {
  TrainingOptions options = quick_options();
  const FullResult stale = train_fully(options, 0.3, trial::Phase::kSearch);
  options.recalibrate = 12;
  const FullResult fresh = train_fully(options, 0.3, trial::Phase::kSearch);
  EXPECT_EQ(stale.train_loss, fresh.train_loss);
  EXPECT_LT(fresh.validation_loss, stale.validation_loss);
  for (std::size_t i = 0; i < stale.weights.size(); ++i) {
    const bool is_statistic = stale.weights[i].name.find("running") != std::string::npos;
    EXPECT_EQ(stale.weights[i].values == fresh.weights[i].values, !is_statistic) << stale.weights[i].name;
  }
}

/// Recalibrates with two batches of so many samples. @param batches  that are given: fewer are a stop
void expect_statistics_stay(std::int64_t samples, std::int64_t batches) {
  const space::Network network = test::NetworkBuilder({4, 1, 1}).batch_norm().flatten().linear(3).build();
  test::HostStep step(network, test::sgd(0.1, 0.9), 3);
  const test::Samples all = test::random_samples(network.input, 6, 3, 1);
  step.step(all.images, all.labels);
  const auto before = step.export_tensors();
  const auto images = [&](std::int64_t number) {
    return number < batches ? all.images.narrow(0, 0, samples) : at::Tensor();
  };
  EXPECT_EQ(step.step_of().recalibrate(2, {0, static_cast<std::size_t>(samples)}, samples, images),
            batches == 2);
  const auto after = step.export_tensors();
  for (std::size_t t = 0; t < before.size(); ++t) EXPECT_EQ(before[t].values, after[t].values);
}

TEST(Recalibration, LeavesStatisticsOfSingleValuesAsTheyWere) {
  expect_statistics_stay(1, 2);
}

TEST(Recalibration, ThatIsStoppedLeavesAllStatisticsAsTheyWere) {
  for (const std::int64_t samples : {1, 6}) {
    for (const std::int64_t batches : {0, 1}) expect_statistics_stay(samples, batches);
  }
}

TEST(Recalibration, IsTheMeanOverTheBatches) {
  const space::Network network = conv_network({1, 8, 8}, 1, 3, 8, 5);
  test::HostStep step(network, test::sgd(0.1, 0.9), 3);
  std::vector<std::vector<float>> means;
  const auto running_mean = [&] {
    const at::Tensor& mean = step.parameters().layer(1).value("running_mean");
    return std::vector<float>(mean.const_data_ptr<float>(), mean.const_data_ptr<float>() + 8);
  };
  const auto batch = [&](std::int64_t number) {
    return test::random_samples(network.input, 6, 5, 10 + static_cast<std::uint64_t>(number)).images;
  };
  for (const std::int64_t number : {0, 1, 2}) {
    step.step_of().recalibrate(1, {0, 6}, 6, [&](std::int64_t) { return batch(number); });
    means.push_back(running_mean());
  }
  step.step_of().recalibrate(3, {0, 6}, 6, batch);
  for (std::size_t c = 0; c < 8; ++c) {
    EXPECT_NEAR(running_mean()[c], (means[0][c] + means[1][c] + means[2][c]) / 3, 1e-6);
  }
}

}  // namespace
}  // namespace skyline::train
