#include "search/surrogate/gaussian_process.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/hyper_choice.hpp"
#include "search/surrogate/model_points.hpp"
#include "search/surrogate/reference_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <Eigen/Cholesky>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::mixed_parameters;
using testing::part_of;
using testing::random_points;

constexpr Eigen::Index kParameters = 5;
constexpr Eigen::Index kFeatures = 3;

/// Reads one point after the other, parameters before features.
Points reference_points(std::span<const double> values) {
  const Eigen::Map<const Eigen::MatrixXd> columns(values.data(), kParameters + kFeatures,
                                                  std::ssize(values) / (kParameters + kFeatures));
  return {columns.topRows(kParameters), columns.bottomRows(kFeatures)};
}

Eigen::VectorXd reference_targets() {
  return Eigen::Map<const Eigen::VectorXd>(testing::kTargets, std::ssize(testing::kTargets));
}

Hyper hyper_of(const double* values) {
  return {values[0], values[1], values[2], values[3]};
}

/// Targets that features and parameters explain in part.
Eigen::VectorXd targets_of(const Points& points) {
  Eigen::VectorXd targets = Eigen::VectorXd::LinSpaced(points.parameters.cols(), -0.2, 0.2);
  targets +=
      points.parameters.row(0).transpose().unaryExpr([](double place) { return place > 0.5 ? 1.0 : -1.0; });
  if (points.features.rows() > 0) targets += points.features.row(0).transpose();
  return targets;
}

void expect_same_bits(const Prediction& left, const Prediction& right) {
  EXPECT_EQ(left.mean, right.mean);
  EXPECT_EQ(left.deviation, right.deviation);
}

TEST(GaussianProcess, AgreesWithScikitLearn) {
  const Points points = reference_points(testing::kPoints);
  const Points candidates = reference_points(testing::kCandidates);
  const PointSpace space = measured_space(mixed_parameters(), points);
  EXPECT_NEAR(space.parameter_scale, testing::kScales[0], 1e-12);
  EXPECT_NEAR(space.feature_scale, testing::kScales[1], 1e-12);
  const double* expected = testing::kPredictions;
  for (std::size_t first = 0; first < std::size(testing::kHypers); first += 4) {
    GaussianProcess process(space);
    process.set_hyper(hyper_of(testing::kHypers + first));
    process.add(points);
    process.fit(reference_targets());
    const Prediction prediction = process.predict(candidates);
    EXPECT_NEAR(process.log_likelihood(), *expected++, 1e-8);
    for (const double mean : prediction.mean) EXPECT_NEAR(mean, *expected++, 1e-8);
    for (const double deviation : prediction.deviation) EXPECT_NEAR(deviation, *expected++, 1e-8);
    for (const double mean : process.means()) EXPECT_NEAR(mean, *expected++, 1e-8);
  }
  EXPECT_EQ(expected, std::end(testing::kPredictions));
}

TEST(GaussianProcess, ChoosesTheHyperParametersOfTheGridThatNumpyFindsMostLikely) {
  const Points points = reference_points(testing::kPoints);
  GaussianProcess process(measured_space(mixed_parameters(), points));
  process.add(points);
  process.choose_hyper(reference_targets());
  EXPECT_EQ(process.hyper(), hyper_of(testing::kChosenHyper));
}

TEST(GaussianProcess, IsTheSameBitsForAnyNumberOfThreads) {
  RandomStream random(11);
  const Points points = random_points(random, 300, kFeatures);  // so many that threads are worth it
  const Points candidates = random_points(random, 60, kFeatures);
  const Eigen::VectorXd targets = targets_of(points);
  for (const bool has_lengths : {false, true}) {
    PointSpace space = measured_space(mixed_parameters(), points);
    space.has_lengths = has_lengths;
    GaussianProcess alone(space);
    GaussianProcess together(space);
    together.use_threads(5);
    for (GaussianProcess* const process : {&alone, &together}) {
      process->add(points);
      process->choose_hyper(targets.head(80));
      process->fit(targets.head(290));
    }
    EXPECT_EQ(together.hyper(), alone.hyper());
    expect_same_bits(together.predict(candidates), alone.predict(candidates));
    EXPECT_EQ(together.means(), alone.means());
    EXPECT_EQ(together.log_likelihood(), alone.log_likelihood());
  }
}

TEST(GaussianProcess, IsTheSameBitsIfItIsExtendedInPlaceOfFitted) {
  RandomStream random(12);
  const Points points = random_points(random, 50, kFeatures);
  const Points candidates = random_points(random, 9, kFeatures);
  const Eigen::VectorXd targets = targets_of(points).head(40);
  const PointSpace space = measured_space(mixed_parameters(), points);
  GaussianProcess fitted(space);
  fitted.add(points);
  fitted.fit(targets);
  GaussianProcess extended(space);
  extended.add(part_of(points, 0, 43));
  extended.fit(targets);
  extended.add(part_of(points, 43, 7));
  extended.extend();
  expect_same_bits(extended.predict(candidates), fitted.predict(candidates));
  EXPECT_EQ(extended.means(), fitted.means());
  EXPECT_EQ(extended.mean_of(49), fitted.means()[49]);
}

TEST(GaussianProcess, IsTheSameBitsHoweverItsPointsCameIn) {
  RandomStream random(1);
  const Points points = random_points(random, 150, kFeatures);
  const Points candidates = random_points(random, 9, kFeatures);
  const Eigen::VectorXd targets = targets_of(points);
  const PointSpace space = measured_space(mixed_parameters(), points);
  GaussianProcess at_once(space);
  at_once.add(points);
  at_once.fit(targets);
  const Prediction expected = at_once.predict(candidates);

  GaussianProcess by_steps(space);
  for (Eigen::Index begin = 0, count = 1; begin < 150;
       begin += count, count = std::min(count + 4, 150 - begin)) {
    by_steps.add(part_of(points, begin, count));
    by_steps.fit(targets.head(begin));
  }
  by_steps.fit(targets);
  expect_same_bits(by_steps.predict(candidates), expected);
  EXPECT_EQ(by_steps.log_likelihood(), at_once.log_likelihood());
  EXPECT_EQ(by_steps.means(), at_once.means());

  by_steps.truncate(61);
  by_steps.fit(targets.head(50));
  by_steps.add(part_of(points, 61, 89));
  by_steps.fit(targets);
  expect_same_bits(by_steps.predict(candidates), expected);

  by_steps.set_hyper({0.5, 0.2, 2, 0.2});
  by_steps.fit(targets);
  EXPECT_NE(by_steps.predict(candidates).mean, expected.mean);
  by_steps.set_hyper(at_once.hyper());
  by_steps.fit(targets);
  expect_same_bits(by_steps.predict(candidates), expected);
}

TEST(GaussianProcess, PredictsAPointAlikeAloneAndAmongOthers) {
  RandomStream random(2);
  const Points points = random_points(random, 70, kFeatures);
  const Points candidates = random_points(random, 11, kFeatures);
  GaussianProcess process(measured_space(mixed_parameters(), points));
  process.add(points);
  process.fit(targets_of(points));
  const Prediction together = process.predict(candidates);
  for (Eigen::Index candidate = 0; candidate < 11; ++candidate) {
    const Prediction alone = process.predict(part_of(candidates, candidate, 1));
    EXPECT_EQ(alone.mean[0], together.mean[candidate]);
    EXPECT_EQ(alone.deviation[0], together.deviation[candidate]);
  }
}

TEST(GaussianProcess, BelievesPointsInFlightAtTheirPredictedMeans) {
  RandomStream random(3);
  const Points points = random_points(random, 30, kFeatures);
  const Points candidates = random_points(random, 20, kFeatures);
  const PointSpace space = measured_space(mixed_parameters(), points);
  const Eigen::VectorXd targets = targets_of(points).head(22);
  GaussianProcess known(space);
  known.add(part_of(points, 0, 22));
  known.fit(targets);
  const Prediction before = known.predict(candidates);
  const Prediction flying = known.predict(part_of(points, 22, 8));
  known.add(part_of(points, 22, 8));
  known.fit(targets);
  const Prediction after = known.predict(candidates);
  EXPECT_EQ(after.mean, before.mean);
  EXPECT_EQ(known.means().tail(8), flying.mean);
  EXPECT_TRUE((after.deviation.array() <= before.deviation.array()).all());

  GaussianProcess believed(space);
  believed.add(points);
  Eigen::VectorXd all(30);
  all << targets, flying.mean;
  believed.fit(all);
  const Prediction expected = believed.predict(candidates);
  EXPECT_TRUE(after.mean.isApprox(expected.mean, 1e-10));
  const double scale = std::sqrt(known.variance() / believed.variance());
  EXPECT_TRUE(after.deviation.isApprox(scale * expected.deviation, 1e-10));
}

TEST(GaussianProcess, KnowsNothingWithoutTargets) {
  RandomStream random(4);
  const Points points = random_points(random, 10, kFeatures);
  GaussianProcess process(measured_space(mixed_parameters(), points));
  process.fit({});
  const Prediction prediction = process.predict(points);
  EXPECT_EQ(prediction.mean, Eigen::VectorXd::Zero(10));
  EXPECT_EQ(prediction.deviation, Eigen::VectorXd::Ones(10));
}

TEST(GaussianProcess, ServesSpacesWithoutFeaturesAndWithoutParameters) {
  RandomStream random(5);
  const Points all = random_points(random, 40, kFeatures);
  for (const bool has_features : {false, true}) {
    Points points{all.parameters, Eigen::MatrixXd(0, 40)};
    if (has_features) points = {Eigen::MatrixXd(0, 40), all.features};
    GaussianProcess process(measured_space(has_features ? std::vector<bool>{} : mixed_parameters(), points));
    process.add(points);
    process.choose_hyper(targets_of(all));
    process.fit(targets_of(all));
    EXPECT_EQ(process.hyper().weight, has_features ? 1 : 0);
    const Eigen::VectorXd errors = process.means() - targets_of(all);
    EXPECT_LT(errors.squaredNorm(), 0.5 * targets_of(all).squaredNorm());
  }
}

TEST(GaussianProcess, ChoosesHyperParametersByAPartThatGrowsByTenths) {
  EXPECT_EQ(GaussianProcess::choice_size(0), 0);
  EXPECT_EQ(GaussianProcess::choice_size(59), 59);
  EXPECT_EQ(GaussianProcess::choice_size(65), 60);
  EXPECT_EQ(GaussianProcess::choice_size(66), 66);
  for (Eigen::Index known = 60; known <= 3000; ++known) {
    const Eigen::Index size = GaussianProcess::choice_size(known);
    EXPECT_LE(size, known);
    EXPECT_GT(static_cast<double>(size) * 1.1, static_cast<double>(known) - 1);
    EXPECT_EQ(GaussianProcess::choice_size(size), size);
  }
}

TEST(GaussianProcess, TakesEqualPointsWithDifferentTargets) {
  RandomStream random(6);
  const Points one = random_points(random, 1, kFeatures);
  GaussianProcess process(measured_space(mixed_parameters(), one));
  for (int copy = 0; copy < 40; ++copy) process.add(one);
  process.set_hyper({0.7, 0.4, 1, 0});
  Eigen::VectorXd targets = Eigen::VectorXd::Constant(40, 1);
  targets.tail(20).setConstant(3);
  process.fit(targets);
  EXPECT_NEAR(process.predict(one).mean[0], 2, 1e-6);
}

TEST(GaussianProcess, RefusesMoreTargetsThanPointsAndPointsOfOtherSpaces) {
  RandomStream random(7);
  const Points points = random_points(random, 4, kFeatures);
  GaussianProcess process(measured_space(mixed_parameters(), points));
  process.add(points);
  EXPECT_THROW(process.fit(Eigen::VectorXd::Zero(5)), InternalError);
  EXPECT_THROW(process.predict(points), InternalError);  // before fit()
  EXPECT_THROW(process.add(random_points(random, 4, kFeatures + 1)), InternalError);
  Points infinite = points;
  infinite.features(0, 0) = std::numeric_limits<double>::infinity();
  EXPECT_THROW(process.add(infinite), InternalError);
}

TEST(Kernel, CountsAParameterThatOnlyOneOfTwoPointsUses) {
  constexpr double kUnused = std::numeric_limits<double>::quiet_NaN();
  const Kernel kernel(PointSpace{{true, false}, 1});
  Points points{Eigen::MatrixXd(2, 5), Eigen::MatrixXd(1, 5)};
  points.parameters << 0, 0.25, 1, kUnused, kUnused,  //
      0, 2, 2, kUnused, 1;
  points.features << 0, 0, 3, 0, 0;
  const Eigen::MatrixXd encoded = kernel.encode(points);
  const auto between = [&](Eigen::Index left, Eigen::Index right) {
    return kernel.distances(encoded.col(left).data(), encoded.col(right).data());
  };
  EXPECT_EQ(between(0, 0).parameters, 0);
  EXPECT_EQ(between(0, 1).parameters, 1.25);
  EXPECT_EQ(between(1, 2).parameters, 0.75);
  EXPECT_EQ(between(1, 2).features, 9);
  EXPECT_EQ(between(0, 3).parameters, 2);
  EXPECT_EQ(between(2, 3).parameters, 2);
  EXPECT_EQ(between(3, 4).parameters, 1);
  EXPECT_EQ(between(4, 0).parameters, 2);
}

/// The model of a space with budgets by its formulas, with all matrices whole.
TEST(GaussianProcess, LearnsFromOtherBudgetsWhatTheKernelSays) {
  RandomStream random(11);
  Points points = random_points(random, 40, kFeatures);
  PointSpace space = measured_space(mixed_parameters(), points);
  space.budget_scale = 2;
  points.budgets = Eigen::RowVectorXd(40);
  for (Eigen::Index i = 0; i < 40; ++i) points.budgets[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? -1 : -2;
  Eigen::VectorXd targets = targets_of(points).head(30);
  const Hyper hyper{0.6, 0.4, 1, 0.05, 5};
  GaussianProcess process(space);
  process.add(points);
  process.truncate(30);
  process.set_hyper(hyper);
  process.fit(targets);
  const Prediction prediction = process.predict(points);

  const Kernel kernel(space);
  const Eigen::MatrixXd encoded = kernel.encode(points);
  Eigen::MatrixXd covariance(40, 40);
  for (Eigen::Index i = 0; i < 40; ++i) {
    for (Eigen::Index j = 0; j < 40; ++j) {
      const Distances distances = kernel.distances(encoded.col(i).data(), encoded.col(j).data());
      EXPECT_EQ(distances.budgets, std::abs(points.budgets[i] - points.budgets[j]));
      const double architectures = 0.4 * std::exp(-distances.parameters / (0.4 * space.parameter_scale)) +
                                   0.6 * std::exp(-distances.features / (2 * space.feature_scale));
      covariance(i, j) = architectures * std::exp(-distances.budgets / (5 * 2));
    }
  }
  Eigen::MatrixXd known = covariance.topLeftCorner(30, 30);
  known.diagonal().array() += 0.05 + kLeastNoise;
  const Eigen::MatrixXd weights = known.ldlt().solve(covariance.topRows(30));
  const Eigen::VectorXd mean = weights.transpose() * targets;
  const double variance = (targets.dot(known.ldlt().solve(targets)) + 1) / 31;
  for (Eigen::Index i = 0; i < 40; ++i) {
    EXPECT_NEAR(prediction.mean[i], mean[i], 1e-9);
    const double left = variance * (1 - covariance.col(i).head(30).dot(weights.col(i)));
    EXPECT_NEAR(prediction.deviation[i], std::sqrt(left), 1e-7);
  }
}

TEST(GaussianProcess, ChoosesALongReachWhereBudgetsAgreeAndAShortOneWhereTheyDoNot) {
  RandomStream random(12);
  const Points half = random_points(random, 40, kFeatures);
  Points both{Eigen::MatrixXd(5, 80), Eigen::MatrixXd(kFeatures, 80), Eigen::RowVectorXd(80)};
  both.parameters << half.parameters, half.parameters;
  both.features << half.features, half.features;
  both.budgets << Eigen::RowVectorXd::Constant(40, -1), Eigen::RowVectorXd::Zero(40);
  PointSpace space = measured_space(mixed_parameters(), half);
  space.budget_scale = 1;
  const auto chosen_length = [&](double sign) {
    GaussianProcess process(space);
    process.add(both);
    Eigen::VectorXd targets(80);
    targets << targets_of(half), sign * targets_of(half);
    process.choose_hyper(targets);
    return process.hyper().budget_length;
  };
  EXPECT_GT(chosen_length(1), chosen_length(-1));
}

TEST(GaussianProcess, FindsThatResultsAreNoiseAlone) {
  RandomStream random(13);
  const Points points = random_points(random, 60, kFeatures);
  GaussianProcess process(measured_space(mixed_parameters(), points));
  process.add(points);
  process.choose_hyper(targets_of(points));
  EXPECT_LE(process.hyper().noise, 0.2);
  Eigen::VectorXd noise(60);
  for (double& each : noise) each = 2 * random.uniform() - 1;
  process.choose_hyper(noise);
  EXPECT_EQ(process.hyper().noise, 1);
}

TEST(Kernel, TakesAScaleOfOneWhereMostPointsAreAlike) {
  Points points{Eigen::MatrixXd::Zero(2, 6), Eigen::MatrixXd::Zero(1, 6)};
  points.features(0, 0) = 5;
  const PointSpace space = measured_space({true, false}, points);
  EXPECT_EQ(space.parameter_scale, 1);
  EXPECT_EQ(space.feature_scale, 1);
}

}  // namespace
}  // namespace skyline::search
