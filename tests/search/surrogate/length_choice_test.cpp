#include "search/surrogate/length_choice.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "search/surrogate/gaussian_process.hpp"
#include "search/surrogate/hyper_choice.hpp"
#include "search/surrogate/model_points.hpp"

#include <cmath>
#include <numbers>
#include <vector>

#include <Eigen/LU>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::mixed_parameters;
using testing::random_points;

PointSpace space_with_lengths() {
  PointSpace space{mixed_parameters()};
  space.parameter_scale = 2;
  space.has_lengths = true;
  return space;
}

Eigen::MatrixXd encoded_points(const Kernel& kernel, Eigen::Index count, std::uint64_t seed) {
  RandomStream random(seed);
  Points points = random_points(random, count, 0);
  points.budgets = Eigen::RowVectorXd::LinSpaced(count, -2, 0);
  return kernel.encode(points);
}

/// Targets that the first parameter explains, and noise.
Eigen::VectorXd targets_of(const Eigen::MatrixXd& points, std::uint64_t seed) {
  RandomStream random(seed);
  Eigen::VectorXd targets(points.cols());
  for (Eigen::Index i = 0; i < targets.size(); ++i)
    targets[i] = std::abs(points(0, i) - 0.4) * 3 - 1 + 0.1 * (random.uniform() - 0.5);
  return targets;
}

/// The squared differences by parameter, with the encoding's formula.
double slow_distance(const Eigen::MatrixXd& points, Eigen::Index left, Eigen::Index right,
                     const std::vector<double>& lengths) {
  double sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double difference = std::abs(points(row, left) - points(row, right));
    const double place = std::min(points(row, left), points(row, right));  // place of the point that uses it
    const bool is_number = mixed_parameters()[i];
    const double squared = difference <= 1 ? difference * difference
                           : is_number     ? 0.75 + std::pow(place - 0.5, 2)
                                           : 1;
    sum += 5 * squared / (lengths[i] * lengths[i]);
  }
  return std::sqrt(sum);
}

TEST(Kernel, AddsASmoothPartWithALengthForEachParameter) {
  const Kernel kernel(space_with_lengths());
  const Eigen::MatrixXd points = encoded_points(kernel, 9, 1);
  const Hyper hyper{0.3, 0.4, 1, 0.03, 1, {0.5, 2, 1, 30, 0.2}};
  Eigen::VectorXd values(9);
  kernel.values(hyper, points.col(2).data(), points, 0, 9, values.data());
  for (Eigen::Index i = 0; i < 9; ++i) {
    const double s = slow_distance(points, 2, i, hyper.lengths);
    const double rough =
        std::exp(-kernel.distances(points.col(2).data(), points.col(i).data()).parameters / (0.4 * 2));
    EXPECT_NEAR(values[i], 0.7 * rough + 0.3 * (1 + s + s * s / 3) * std::exp(-s), 1e-14);
  }
  EXPECT_EQ(values[2], 1);
  EXPECT_THROW(kernel.rates({1, 2}), InternalError);
}

TEST(LengthPosterior, AgreesWithASlowOracle) {
  const Kernel kernel(space_with_lengths());
  const Eigen::MatrixXd points = encoded_points(kernel, 11, 2);
  const Eigen::VectorXd targets = targets_of(points, 2);
  const Eigen::VectorXd counts = Eigen::VectorXd::LinSpaced(11, 1, 3);
  const std::vector<double> lengths{0.5, 2, 1, 30, 0.2};
  Eigen::VectorXd logarithms(6);
  for (Eigen::Index i = 0; i < 5; ++i) logarithms[i] = std::log(lengths[static_cast<std::size_t>(i)]);
  logarithms[5] = -2;
  Eigen::MatrixXd covariance(11, 11);
  for (Eigen::Index left = 0; left < 11; ++left) {
    for (Eigen::Index right = 0; right < 11; ++right) {
      const double s = slow_distance(points, left, right, lengths);
      covariance(left, right) = (1 + s + s * s / 3) * std::exp(-s);
    }
    covariance(left, left) += std::exp(-2) / counts[left] + kLeastNoise;
  }
  const double squares = targets.dot(covariance.inverse() * targets);
  double expected = 5.5 * std::log((squares + 1) / 12) + 0.5 * std::log(covariance.determinant());
  const double mean = std::numbers::sqrt2 + 0.5 * std::log(5.0);
  for (Eigen::Index i = 0; i < 5; ++i) expected += std::pow(logarithms[i] - mean, 2) / 6;
  expected += std::pow(-2.0 + 4.0, 2) / 4.5;
  Eigen::VectorXd gradient(6);
  EXPECT_NEAR(LengthPosterior(kernel, points, targets, counts)(logarithms, gradient), expected, 1e-9);
}

TEST(LengthPosterior, HasTheGradientOfItsDifferences) {
  for (const double budget_scale : {0.0, 2.0}) {
    PointSpace space = space_with_lengths();
    space.budget_scale = budget_scale;
    const Kernel kernel(space);
    const Eigen::MatrixXd points = encoded_points(kernel, 23, 3);
    const Eigen::VectorXd targets = targets_of(points, 3);
    const Eigen::VectorXd counts = Eigen::VectorXd::LinSpaced(23, 1, 4);
    const LengthPosterior posterior(kernel, points, targets, counts);
    Eigen::VectorXd place(6);
    place << -1, 0.5, 2, 0, 1, -3;
    Eigen::VectorXd gradient(6);
    Eigen::VectorXd unused(6);
    (void)posterior(place, gradient);
    constexpr double kStep = 1e-5;
    for (Eigen::Index i = 0; i < 6; ++i) {
      Eigen::VectorXd above = place;
      Eigen::VectorXd below = place;
      above[i] += kStep;
      below[i] -= kStep;
      EXPECT_NEAR(gradient[i], (posterior(above, unused) - posterior(below, unused)) / (2 * kStep), 1e-6);
    }
  }
}

TEST(LengthPosterior, GivesAParameterThatDoesNotMatterALongLength) {
  const Kernel kernel(space_with_lengths());
  const Eigen::MatrixXd points = encoded_points(kernel, 60, 4);
  const Eigen::VectorXd targets = targets_of(points, 4);
  const Eigen::VectorXd counts = Eigen::VectorXd::Ones(60);
  const std::vector<double> lengths = LengthPosterior(kernel, points, targets, counts).best_lengths();
  ASSERT_EQ(lengths.size(), 5);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_GT(lengths[i], 5 * lengths[0]);
  EXPECT_EQ(LengthPosterior(kernel, points, targets, counts).best_lengths(), lengths);
}

TEST(LengthPosterior, TakesOneTargetEqualPointsAndEqualTargets) {
  const Kernel kernel(space_with_lengths());
  const Eigen::MatrixXd one = encoded_points(kernel, 1, 5);
  for (const Eigen::Index count : {1, 30}) {
    const Eigen::MatrixXd points = one.replicate(1, count);
    const Eigen::VectorXd targets = Eigen::VectorXd::Zero(count);
    const Eigen::VectorXd counts = Eigen::VectorXd::Ones(count);
    for (const double length : LengthPosterior(kernel, points, targets, counts).best_lengths())
      EXPECT_TRUE(std::isfinite(length) && length > 0);
    EXPECT_EQ(best_hyper(kernel, points, targets, counts).lengths.size(), 5);
  }
}

TEST(GaussianProcess, PredictsBetterWithLengthsWhereOneParameterMatters) {
  PointSpace rough = space_with_lengths();
  rough.has_lengths = false;
  RandomStream random(6);
  const Points points = random_points(random, 60, 0);
  const Points others = random_points(random, 60, 0);
  std::vector<double> errors;
  for (const PointSpace& space : {rough, space_with_lengths()}) {
    GaussianProcess process(space);
    const Kernel kernel(space);
    process.add(points);
    const Eigen::VectorXd targets = targets_of(kernel.encode(points), 6);
    process.choose_hyper(targets);
    process.fit(targets);
    errors.push_back((process.predict(others).mean - targets_of(kernel.encode(others), 7)).squaredNorm());
  }
  EXPECT_LT(errors[1], 0.3 * errors[0]);
}

TEST(Minimize, FindsTheEndOfACurvedValley) {
  int calls = 0;
  const auto valley = [&calls](const Eigen::VectorXd& place, Eigen::VectorXd& gradient) {
    ++calls;
    const double off = place[1] - place[0] * place[0];
    gradient << -400 * off * place[0] - 2 * (1 - place[0]), 200 * off;
    return 100 * off * off + (1 - place[0]) * (1 - place[0]);
  };
  const Minimum found = minimize(valley, Eigen::Vector2d(-1.2, 1), 200);
  EXPECT_NEAR(found.place[0], 1, 1e-4);
  EXPECT_NEAR(found.place[1], 1, 1e-4);
  EXPECT_LT(calls, 120);
  const Minimum stays = minimize(valley, Eigen::Vector2d(-1.2, 1), 0);
  EXPECT_EQ(stays.place, Eigen::Vector2d(-1.2, 1));
}

}  // namespace
}  // namespace skyline::search
