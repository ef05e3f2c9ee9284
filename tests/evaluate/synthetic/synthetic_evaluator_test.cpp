#include "evaluate/synthetic/synthetic_evaluator.hpp"

#include "core/config/config_text.hpp"
#include "evaluate/recording_context.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::evaluate {
namespace {

using testing::config_from_yaml;
using ::testing::ElementsAre;
using testing::RecordingContext;
using testing::user_error_of;
using trial::Failure;
using trial::FailureKind;
using trial::Measurements;
using trial::Outcome;
using trial::Trial;

Trial trial_of(std::uint64_t id, std::int64_t parameters, std::int64_t flops, double epochs = 1) {
  space::Architecture::Parts parts;
  parts.network.classes = 10;
  parts.network.layers.resize(3);
  parts.network.cost = {parameters, flops, flops / 2, 64};
  Trial trial;
  trial.proposal.architecture = std::make_shared<const space::Architecture>(
      space::ArchId{id}, space::Genotype{}, std::vector<bool>{}, std::move(parts));
  trial.proposal.budget.epochs = epochs;
  trial.seed = id + 1;
  return trial;
}

Outcome evaluate(const Trial& trial, const SyntheticOptions& options = {}) {
  RecordingContext context;
  return make_synthetic_evaluator(options)->evaluate(trial, context);
}

std::vector<double> values_of(const Trial& trial) {
  return std::get<Measurements>(evaluate(trial)).values;
}

TEST(SyntheticEvaluator, MeasuresWhatTheTrainingEvaluatorMeasures) {
  const std::vector<trial::Metric> metrics = synthetic_kind().metrics({}, {});
  EXPECT_THAT(trial::names_of(metrics), ElementsAre("validation_accuracy", "validation_loss", "train_loss",
                                                    "latency_ms", "test_accuracy", "steps"));
  EXPECT_EQ(values_of(trial_of(1, 100, 1000)).size(), metrics.size());
}

TEST(SyntheticEvaluator, GivesTheSameResultForTheSameTrialAlone) {
  const Trial trial = trial_of(5, 3000, 1000);
  EXPECT_EQ(values_of(trial)[0], values_of(trial)[0]);
  EXPECT_EQ(values_of(trial)[1], values_of(trial)[1]);
  Trial other_seed = trial;
  other_seed.seed = 99;
  EXPECT_NE(values_of(trial)[0], values_of(other_seed)[0]);
  EXPECT_NE(values_of(trial)[0], values_of(trial_of(6, 3000, 1000))[0]);
}

TEST(SyntheticEvaluator, HasAnAccuracyThatGrowsWithParametersAndEpochsAndSaturates) {
  const auto mean_accuracy = [](std::int64_t parameters, double epochs) {
    double sum = 0;
    for (std::uint64_t id = 0; id < 50; ++id) sum += values_of(trial_of(id, parameters, 1000, epochs))[0];
    return sum / 50;
  };
  EXPECT_NEAR(mean_accuracy(0, 1), 0.1, 0.01);
  EXPECT_NEAR(mean_accuracy(1'000'000'000, 1000), 0.995, 0.01);
  EXPECT_LT(mean_accuracy(1000, 1), mean_accuracy(10'000, 1));
  EXPECT_LT(mean_accuracy(10'000, 1), mean_accuracy(100'000, 1));
  EXPECT_LT(mean_accuracy(10'000, 0.02), mean_accuracy(10'000, 1));
  for (std::uint64_t id = 0; id < 50; ++id) {
    const double accuracy = values_of(trial_of(id, 1'000'000'000, 1000, 1000))[0];
    EXPECT_GE(accuracy, 0);
    EXPECT_LE(accuracy, 1);
  }
}

TEST(SyntheticEvaluator, UsesTheTestSetForFullTrainingAlone) {
  Trial trial = trial_of(5, 3000, 1000);
  EXPECT_TRUE(std::isnan(values_of(trial)[4]));
  trial.proposal.trains = trial.number;
  EXPECT_NEAR(values_of(trial)[4], values_of(trial)[0], 0.02);
}

TEST(SyntheticEvaluator, GivesLatencyAndStepsByFormula) {
  EXPECT_DOUBLE_EQ(values_of(trial_of(1, 100, 50'000'000))[3], 1.006);
  EXPECT_EQ(values_of(trial_of(1, 100, 1000, 0.5))[5], 500);
  EXPECT_EQ(values_of(trial_of(1, 100, 1000, 1e-9))[5], 1);
}

TEST(SyntheticEvaluator, PredictsACostOfFlopsTimesEpochsThatIsNeverZero) {
  const auto evaluator = make_synthetic_evaluator({});
  EXPECT_EQ(evaluator->predicted_cost(trial_of(1, 100, 1000, 2)), 2000);
  EXPECT_EQ(evaluator->predicted_cost(trial_of(1, 0, 0, 2)), 1);
}

TEST(SyntheticEvaluator, SleepsForATimeThatIsAsFarFromItsForecastAsTheErrorSays) {
  Trial trial = trial_of(1, 100, 1'000'000'000, 1);
  double factor = 0;
  for (trial.seed = 0; factor < 2; ++trial.seed) {
    factor = lognormal(trial.seed + 1, "evaluate.synthetic.time", 0, 0.5);
  }
  RecordingContext context;
  make_synthetic_evaluator({.seconds_per_gflop = 0.02, .forecast_error = 0.5})->evaluate(trial, context);
  EXPECT_GE(context.timing().train_s, 0.02 * factor);
}

TEST(Lognormal, HasTheMeanOneAndTheCoefficientOfVariationThatIsAskedFor) {
  constexpr std::uint64_t kNumbers = 100'000;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t number = 0; number < kNumbers; ++number) {
    const double value = lognormal(1, "test", number, 0.5);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kNumbers;
  EXPECT_NEAR(mean, 1, 0.01);
  EXPECT_NEAR(std::sqrt(squares / kNumbers - mean * mean), 0.5, 0.02);
  EXPECT_EQ(lognormal(1, "test", 0, 0), 1);
}

TEST(SyntheticEvaluator, ContinuesATrialInTheTimeThatIsLeftToTheResultOfALongOne) {
  const auto evaluator = make_synthetic_evaluator({.seconds_per_gflop = 0.5});
  Trial first = trial_of(1, 100, 1'000'000'000, 1);
  first.proposal.horizon = {2};
  RecordingContext first_context;
  evaluator->evaluate(first, first_context);
  EXPECT_EQ(first_context.left().step, 1000);
  Trial second = first;
  second.proposal.budget = {2};
  second.proposal.start = trial::Continue{.from = 0, .epochs = 1};
  EXPECT_EQ(evaluator->predicted_cost(second), evaluator->predicted_cost(first));
  RecordingContext second_context;
  second_context.go_on_from(first_context.left());
  const Outcome continued = evaluator->evaluate(second, second_context);
  EXPECT_LT(second_context.timing().train_s, 0.95) << "1 s from the start";
  EXPECT_EQ(second_context.left().step, 0) << "its budget is the horizon";
  second.proposal.start = {};
  EXPECT_EQ(std::get<Measurements>(continued).values[0], values_of(second)[0]);
}

TEST(SyntheticEvaluator, FailsTheGivenShareOfArchitecturesAndAlwaysTheSame) {
  SyntheticOptions options;
  options.failure_rate = 0.3;
  int failures = 0;
  for (std::uint64_t id = 0; id < 1000; ++id) {
    const Outcome outcome = evaluate(trial_of(id, 100, 1000), options);
    Trial again = trial_of(id, 100, 1000, 5);
    again.seed = 77;
    EXPECT_EQ(evaluate(again, options).index(), outcome.index());
    if (const auto* failure = std::get_if<Failure>(&outcome)) {
      ++failures;
      EXPECT_EQ(failure->kind, FailureKind::kDiverged);
      EXPECT_EQ(failure->reason, "this architecture is of the synthetic share that fails");
    }
  }
  EXPECT_NEAR(failures, 300, 75);
  options.failure_rate = 1;
  EXPECT_TRUE(std::holds_alternative<Failure>(evaluate(trial_of(1, 100, 1000), options)));
}

TEST(SyntheticEvaluator, SleepsByFlopsAndEpochsAndFillsInTheTiming) {
  SyntheticOptions options;
  options.seconds_per_gflop = 0.02;
  RecordingContext context;
  const Trial trial = trial_of(1, 100, 1'000'000'000, 2);
  EXPECT_TRUE(
      std::holds_alternative<Measurements>(make_synthetic_evaluator(options)->evaluate(trial, context)));
  EXPECT_GE(context.timing().train_s, 0.04);
  EXPECT_LT(context.timing().train_s, 2);
  EXPECT_GT(context.timing().validate_s, 0);
}

TEST(SyntheticEvaluator, EndsSoonAfterAStopRequest) {
  SyntheticOptions options;
  options.seconds_per_gflop = 1000;
  RecordingContext context(2);
  const Outcome outcome =
      make_synthetic_evaluator(options)->evaluate(trial_of(1, 100, 1'000'000'000), context);
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
  EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kStopped);
  EXPECT_LT(context.timing().train_s, 2);
}

TEST(SyntheticOptions, ReadTheirKeysAndAreWrittenBack) {
  constexpr const char* kYaml = "{seconds_per_gflop: 0.1, failure_rate: 0.25, forecast_error: 0.3}";
  const SyntheticOptions options = SyntheticOptions::table().parse(config_from_yaml(kYaml));
  EXPECT_EQ(options.seconds_per_gflop, 0.1);
  EXPECT_EQ(options.failure_rate, 0.25);
  EXPECT_EQ(first_difference(SyntheticOptions::table().to_config(options), config_from_yaml(kYaml)), "");
  EXPECT_EQ(SyntheticOptions::table().parse(config_from_yaml("")).failure_rate, 0);
}

TEST(SyntheticEvaluator, IsWorthSearchingOnARuggedLandscapeAlone) {
  const std::vector<double> smooth = values_of(trial_of(5, 100, 1000));
  const auto rugged = [&](std::uint64_t seed) {
    const Outcome outcome =
        evaluate(trial_of(5, 100, 1000), {.landscape = Landscape::kRugged, .landscape_seed = seed});
    return std::get<Measurements>(outcome).values[0];
  };
  EXPECT_NE(rugged(0), smooth[0]);
  EXPECT_EQ(rugged(0), rugged(0));
}

TEST(SyntheticOptions, LeaveTheLandscapeOutOfConfigurationsUnlessItIsGiven) {
  const auto complete = [](const std::string& yaml) {
    return to_yaml(SyntheticOptions::table().complete(config_from_yaml(yaml)));
  };
  EXPECT_THAT(complete(""), ::testing::Not(::testing::HasSubstr("landscape"))) << "older runs lack it";
  EXPECT_THAT(complete("{landscape: rugged, landscape_seed: 3}"),
              ::testing::HasSubstr("landscape: rugged\nlandscape_seed: 3\n"));
}

TEST(SyntheticOptions, RefuseUnknownKeysAndNumbersOutOfRange) {
  const auto error_of = [](const std::string& yaml) {
    return user_error_of(
        [&] { SyntheticOptions::table().parse(config_from_yaml(yaml, "run.yaml", "synthetic")); });
  };
  EXPECT_EQ(error_of("failure_rat: 0.1"),
            "run.yaml:1:1: synthetic: unknown key `failure_rat`, did you mean `failure_rate`?");
  EXPECT_EQ(error_of("failure_rate: 1.5"),
            "run.yaml:1:15: synthetic.failure_rate: expected a number from 0 to 1, got 1.5");
  EXPECT_EQ(error_of("seconds_per_gflop: -1"),
            "run.yaml:1:20: synthetic.seconds_per_gflop: expected a number of at least 0, got -1");
}

TEST(SyntheticEvaluator, GoesOnWhereAStopSavedItAndGivesTheSameResult) {
  const Trial trial = trial_of(7, 1000, 1'000'000'000, 2);
  SyntheticOptions options;
  options.seconds_per_gflop = 0.1;  // 0.2 s in all
  const auto evaluator = make_synthetic_evaluator(options);
  RecordingContext stopped(10);
  const Outcome outcome = evaluator->evaluate(trial, stopped);
  EXPECT_EQ(std::get<trial::Failure>(outcome).kind, trial::FailureKind::kStopped);
  EXPECT_GT(stopped.last_saved().step, 0);
  EXPECT_LE(stopped.last_saved().step, 2000);

  trial::TrainingState almost_done;
  almost_done.step = 1990;
  RecordingContext resumed;
  resumed.go_on_from(almost_done);
  const Outcome again = evaluator->evaluate(trial, resumed);
  EXPECT_LT(resumed.timing().train_s, 0.1) << "most of the time was slept by the job before";
  EXPECT_EQ(std::get<Measurements>(again).values[0], values_of(trial)[0]);
}

TEST(SyntheticEvaluator, SavesWhenAStopComesInItsLastMoment) {
  const Trial trial = trial_of(7, 1000, 1'000'000'000, 2);
  SyntheticOptions options;
  options.seconds_per_gflop = 0.0005;  // 1 ms in all: one nap
  const auto evaluator = make_synthetic_evaluator(options);
  RecordingContext stopped(1);
  const Outcome outcome = evaluator->evaluate(trial, stopped);
  EXPECT_EQ(std::get<trial::Failure>(outcome).kind, trial::FailureKind::kStopped);
  EXPECT_EQ(stopped.last_saved().step, 2000);

  RecordingContext resumed;
  resumed.go_on_from(stopped.last_saved());
  EXPECT_EQ(std::get<Measurements>(evaluator->evaluate(trial, resumed)).values[0], values_of(trial)[0]);
}

TEST(SyntheticEvaluator, StartsAnewIfTheSavedStateDoesNotFit) {
  const Trial trial = trial_of(7, 1000, 1'000'000'000, 2);
  trial::TrainingState strange;
  strange.step = 1'000'000;
  RecordingContext resumed;
  resumed.go_on_from(strange);
  SyntheticOptions options;
  options.seconds_per_gflop = 0.02;
  const Outcome outcome = make_synthetic_evaluator(options)->evaluate(trial, resumed);
  EXPECT_GE(resumed.timing().train_s, 0.04);
  EXPECT_TRUE(std::holds_alternative<Measurements>(outcome));
}

}  // namespace
}  // namespace skyline::evaluate
