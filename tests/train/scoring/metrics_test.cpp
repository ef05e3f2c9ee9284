#include "train/scoring/metrics.hpp"

#include "skyline/core/random.hpp"

#include "support/yaml_config.hpp"
#include "train/options/training_options.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using store::TargetKind;

double value_of(const std::string& metric, const store::Samples& samples, std::size_t outputs,
                const std::vector<float>& said, std::size_t batch = 1000, const std::string& section = "{}") {
  const MetricKind& kind = *find_metric(metric);
  const LossOrMetric choice{metric, kind.keys->complete(testing::config_from_yaml(section))};
  const store::SampleView view = samples.view(outputs);
  Scorer scorer(std::span(&choice, 1), view, outputs);
  std::vector<std::int64_t> indices(view.count);
  std::iota(indices.begin(), indices.end(), 0);
  for (std::size_t first = 0; first < view.count; first += batch) {
    const std::size_t count = std::min(batch, view.count - first);
    scorer.add(std::span(indices).subspan(first, count), 0,
               std::span(said).subspan(first * outputs, count * outputs));
  }
  return scorer.score().metrics.front();
}

store::Samples classes(std::vector<std::int32_t> given) {
  store::Samples samples;
  samples.targets = std::move(given);
  return samples;
}
store::Samples labels(std::vector<std::uint8_t> given) {
  store::Samples samples;
  samples.targets = std::move(given);
  return samples;
}
store::Samples numbers(std::vector<float> given) {
  store::Samples samples;
  samples.targets = std::move(given);
  return samples;
}

TEST(Metrics, OfNumbersWithAUnitAreInItAndTheSquaredErrorIsInTheScaleOfTraining) {
  using store::TargetColumn;
  const std::vector<TargetColumn> columns{
      {.column = "price", .mean = 2, .deviation = 0.5, .transform = TargetColumn::Transform::kLog}};
  const std::vector<double> truth{3, 9, 20};
  const std::vector<double> answers{4, 8, 30};
  store::Samples samples = numbers({});
  std::vector<float> said;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    std::get<2>(samples.targets).push_back(static_cast<float>(columns[0].stored(truth[i])));
    said.push_back(static_cast<float>(columns[0].stored(answers[i])));
  }
  const store::SampleView view = samples.view(1);
  std::vector<LossOrMetric> metrics;
  for (const std::string& name : default_metrics(TargetKind::kNumbers)) metrics.push_back({name, {}});
  for (LossOrMetric& metric : metrics)
    metric.section = find_metric(metric.name)->keys->complete(ConfigNode());
  Scorer scorer(metrics, view, 1, columns);
  scorer.add(std::vector<std::int64_t>{0, 1, 2}, 0, said);
  const std::vector<double> values = scorer.score().metrics;
  double squares = 0;
  for (std::size_t i = 0; i < 3; ++i) squares += std::pow(std::log(answers[i] / truth[i]) / 0.5, 2);
  EXPECT_NEAR(values[0], squares / 3, 1e-6) << "mse";
  EXPECT_NEAR(values[1], 1 - (1 + 1 + 100) / (3 * (490 / 3.0 - std::pow(32 / 3.0, 2))), 1e-5) << "r2";
  EXPECT_NEAR(values[2], std::sqrt(102 / 3.0), 1e-4) << "rmse";
}

TEST(Metrics, OfOneOutputBeyondAllNumbersStayFinite) {
  using store::TargetColumn;
  const std::vector<TargetColumn> columns{{.column = "price", .transform = TargetColumn::Transform::kLog}};
  const store::Samples samples = numbers({0, 1});
  const store::SampleView view = samples.view(1);
  const LossOrMetric rmse{"rmse", find_metric("rmse")->keys->complete(ConfigNode())};
  Scorer scorer(std::span(&rmse, 1), view, 1, columns);
  scorer.add(std::vector<std::int64_t>{0, 1}, 0, std::vector<float>{0, 4000});
  EXPECT_TRUE(std::isfinite(scorer.score().metrics[0]));
}

TEST(Metrics, CountTheFirstOfEqualOutputsAsTheAnswer) {
  const std::vector<float> said = {1, 1, 0, 0, 1, 1, 0, 0, 0};
  EXPECT_NEAR(value_of("accuracy", classes({0, 2, 0}), 3, said), 2 / 3.0, 1e-15);
  EXPECT_NEAR(value_of("top_k", classes({1, 2, 2}), 3, said, 1000, "{k: 2}"), 2 / 3.0, 1e-15);
  EXPECT_EQ(value_of("top_k", classes({1, 2, 1}), 3, said, 1000, "{k: 2}"), 1);
}

TEST(Metrics, OfLabelsAskWhetherTheProbabilityIsAboveOneHalf) {
  const std::vector<float> said = {1, -1, 0, 2};
  EXPECT_EQ(value_of("accuracy", labels({1, 0, 1, 1}), 2, said), 0.75);
  // The first label: 1 of 2 found, none said wrongly. The second: found.
  EXPECT_NEAR(value_of("macro_f1", labels({1, 0, 1, 1}), 2, said), (2 / 3.0 + 1) / 2, 1e-15);
}

TEST(Metrics, MacroF1LeavesOutAClassThatNeitherOccursNorIsSaid) {
  // One of two samples of class 0 is found, and one of class 1 is taken for class 0. Class 1 is predicted
  // once, wrongly.
  EXPECT_NEAR(value_of("macro_f1", classes({0, 1, 0}), 4, {1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0}),
              (2 * 1 / 4.0 + 0) / 2, 1e-15);
  EXPECT_EQ(value_of("macro_f1", classes({0, 1, 2}), 4, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}), 1);
}

/// Computes the area by its definition, over all pairs.
double pairwise_auc(const std::vector<float>& scores, const std::vector<std::uint8_t>& is_positive) {
  double wins = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (is_positive[i] == 0 || is_positive[j] == 1) continue;
      pairs += 1;
      wins += scores[i] > scores[j] ? 1 : (scores[i] == scores[j] ? 0.5 : 0);
    }
  }
  return wins / pairs;
}

TEST(Metrics, AucIsTheShareOfPairsInTheRightOrderWithTiesAsHalf) {
  RandomStream random(5);
  std::vector<float> scores;
  std::vector<std::uint8_t> positive;
  for (int i = 0; i < 200; ++i) {
    positive.push_back(static_cast<std::uint8_t>(random.below(3) == 0));
    scores.push_back(static_cast<float>(random.below(12)) + static_cast<float>(positive.back()));
  }
  EXPECT_NEAR(value_of("auc", labels(positive), 1, scores), pairwise_auc(scores, positive), 1e-14);
  EXPECT_EQ(value_of("auc", labels({0, 1, 1, 0}), 1, {3, 3, 3, 3}), 0.5);
  EXPECT_EQ(value_of("auc", labels({0, 1, 1, 0}), 1, {0, 2, 1, 0}), 1);
}

TEST(Metrics, AucLeavesOutALabelThatAllOrNoSamplesHave) {
  EXPECT_EQ(value_of("auc", labels({0, 1, 1, 1, 0, 1}), 2, {1, 0, 0, 5, 2, 7}), 0);
  EXPECT_TRUE(std::isnan(value_of("auc", labels({1, 1, 1}), 1, {1, 2, 3})));
}

TEST(Metrics, AucOfClassesIsThatOfTheirProbabilities) {
  // The logits of class 0 alone would put the last sample first.
  const std::vector<float> said = {1, 0, 0, 1, 9, 9};
  EXPECT_EQ(value_of("auc", classes({0, 1, 1}), 2, said), 1);
}

TEST(Metrics, AucTellsSureOutputsApart) {
  // Probabilities of 1 - e^-40, 1 - e^-50 and 1 - e^-900, all of which are 1 as floating-point numbers.
  const std::vector<float> said = {40, 0, 50, 0, 900, 0, 0, 800};
  EXPECT_EQ(value_of("auc", classes({1, 0, 0, 1}), 2, said), 1);
  EXPECT_EQ(value_of("auc", classes({0, 1, 0, 1}), 2, said), 0.75);
  EXPECT_EQ(value_of("auc", classes({0, 1, 0, 1}), 2, {0, 0, 0, 0, 0, 0, 0, 0}), 0.5);
}

TEST(Metrics, OfNumbersAreMeansOverSamplesAndOutputs) {
  EXPECT_EQ(value_of("mse", numbers({0, 0, 1, 1}), 2, {1, 0, 1, 3}), 5 / 4.0);
  EXPECT_EQ(value_of("mae", numbers({0, 0, 1, 1}), 2, {1, 0, 1, 3}), 3 / 4.0);
  EXPECT_EQ(value_of("rmse", numbers({0, 0, 1, 1}), 2, {1, 0, 1, 3}), std::sqrt(5 / 4.0));
}

TEST(Metrics, TellHowMuchOfTheVarianceOfNumbersIsExplained) {
  // scikit-learn's r2_score of the same numbers
  EXPECT_NEAR(value_of("r2", numbers({0.5f, 1, -1, 1, 7, -6}), 2, {0, 2, -1, 2, 8, -5}), 0.9368005266622779,
              1e-7);
  EXPECT_EQ(value_of("r2", numbers({1, 2, 3}), 1, {2, 2, 2}), 0) << "the mean explains nothing";
  EXPECT_EQ(value_of("r2", numbers({1, 2, 3}), 1, {3, 2, 1}), -3);
  EXPECT_EQ(value_of("r2", numbers({5, 1, 5, 2}), 2, {0, 1, 0, 2}), 1)
      << "an output that is constant is left out";
  EXPECT_TRUE(std::isnan(value_of("r2", numbers({5, 5}), 1, {5, 5})));
}

TEST(Metrics, DoNotDependOnTheBatches) {
  RandomStream random(2);
  std::vector<std::int32_t> wanted;
  std::vector<float> said;
  for (int i = 0; i < 101; ++i) {
    wanted.push_back(static_cast<std::int32_t>(random.below(4)));
    for (int j = 0; j < 4; ++j) said.push_back(static_cast<float>(random.below(5)));
  }
  for (const std::string& metric : metric_names()) {
    const auto& kinds = find_metric(metric)->targets;
    if (std::ranges::find(kinds, TargetKind::kClasses) == kinds.end()) continue;
    const std::string section = metric == "top_k" ? "{k: 2}" : "{}";
    const double whole = value_of(metric, classes(wanted), 4, said, 1000, section);
    for (const std::size_t batch : {1U, 7U, 64U}) {
      EXPECT_EQ(value_of(metric, classes(wanted), 4, said, batch, section), whole) << metric;
    }
  }
}

TEST(Metrics, OfOutputsThatAreNoNumbersAreNoNumbers) {
  const float nan = std::nanf("");
  EXPECT_TRUE(std::isnan(value_of("auc", labels({0, 1, 1, 0}), 1, {nan, 2, nan, 0})));
  EXPECT_TRUE(std::isnan(value_of("mse", numbers({0, 1}), 1, {nan, 2})));
}

}  // namespace
}  // namespace skyline::train
