#include "search/surrogate/hypervolume_improvement.hpp"

#include "skyline/core/error.hpp"
#include "skyline/search/pareto.hpp"

#include "search/surrogate/normal.hpp"
#include "search/surrogate/reference_values.hpp"
#include "support/random_points.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using skyline::testing::trade_off_points;
using skyline::testing::whole_points;

Eigen::MatrixXd columns_of(const std::vector<double>& values, std::size_t objectives) {
  return Eigen::Map<const Eigen::MatrixXd>(values.data(), static_cast<Eigen::Index>(objectives),
                                           static_cast<Eigen::Index>(values.size() / objectives));
}

/// What a point adds to the hypervolume of a front, by the two volumes.
double added_volume(std::vector<double> front, const Eigen::VectorXd& point,
                    const std::vector<double>& reference) {
  const double before = hypervolume(front, reference);
  front.insert(front.end(), point.begin(), point.end());
  return hypervolume(front, reference) - before;
}

TEST(HypervolumeImprovement, OfExactValuesIsTheVolumeThatAPointAdds) {
  RandomStream random(1);
  int with_gain = 0;
  for (int set = 0; set < 10000; ++set) {
    const std::size_t objectives = 1 + random.below(5);
    const std::size_t points = random.below(13);
    const bool whole =
        random.below(2) == 0;  // many ties, duplicates, dominated points, and points beyond the reference
    const std::vector<double> front =
        whole ? whole_points(random, points, objectives, 5) : trade_off_points(random, points, objectives);
    const std::vector<double> reference(objectives, whole ? 4.0 : 0.8);
    const Eigen::MatrixXd candidates =
        columns_of(whole ? whole_points(random, 10, objectives, 4) : trade_off_points(random, 10, objectives),
                   objectives);
    const HypervolumeImprovement improvement(
        columns_of(front, objectives),
        Eigen::VectorXd::Constant(static_cast<Eigen::Index>(objectives), reference[0]));
    const Eigen::VectorXd gains = improvement(candidates, 0 * candidates);
    for (Eigen::Index candidate = 0; candidate < 10; ++candidate) {
      const double expected = added_volume(front, candidates.col(candidate), reference);
      ASSERT_NEAR(gains[candidate], expected, 1e-12)
          << objectives << " objectives, " << points << " points, set " << set;
      with_gain += expected > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(with_gain, 25000);
}

TEST(HypervolumeImprovement, AgreesWithBoTorch) {
  const double* front = testing::kFronts;
  const double* means = testing::kMeans;
  const double* deviations = testing::kDeviations;
  const double* expected = testing::kHypervolumeImprovements;
  for (Eigen::Index objectives = 2; objectives <= 4; ++objectives) {
    const auto columns = [&](const double*& values, Eigen::Index count) {
      const double* const begin = std::exchange(values, values + objectives * count);
      return Eigen::Map<const Eigen::MatrixXd>(begin, objectives, count);
    };
    const HypervolumeImprovement improvement(columns(front, 9), Eigen::VectorXd::Ones(objectives));
    const Eigen::VectorXd gains = improvement(columns(means, 3), columns(deviations, 3));
    for (const double gain : gains) EXPECT_NEAR(gain, *expected++, 1e-10) << objectives << " objectives";
  }
  EXPECT_EQ(expected, std::end(testing::kHypervolumeImprovements));
}

TEST(HypervolumeImprovement, IsTheMeanOfWhatSamplesAdd) {
  constexpr Eigen::Index kSamples = 4000;
  RandomStream random(2);
  for (std::size_t objectives = 1; objectives <= 5; ++objectives) {
    const auto rows = static_cast<Eigen::Index>(objectives);
    const HypervolumeImprovement improvement(columns_of(trade_off_points(random, 20, objectives), objectives),
                                             Eigen::VectorXd::Constant(rows, 0.8));
    const Eigen::MatrixXd means = columns_of(trade_off_points(random, 5, objectives), objectives);
    Eigen::MatrixXd deviations = Eigen::MatrixXd::Constant(rows, 5, 0.1);
    deviations.row(0).setConstant(0.3);
    if (objectives > 1) deviations.bottomRows(1).setZero();  // an exact objective
    const Eigen::VectorXd gains = improvement(means, deviations);
    for (Eigen::Index candidate = 0; candidate < 5; ++candidate) {
      Eigen::MatrixXd samples(rows, kSamples);
      for (double& value : samples.reshaped())
        value = normal_quantile((random.uniform() + 1e-9) / (1 + 2e-9));
      samples = deviations.col(candidate).asDiagonal() * samples;
      samples.colwise() += means.col(candidate);
      const Eigen::ArrayXd added = improvement(samples, 0 * samples);
      const double error = std::sqrt((added - added.mean()).square().mean() / kSamples);
      EXPECT_NEAR(gains[candidate], added.mean(), 4 * error + 1e-12) << objectives << " objectives";
    }
  }
}

/// What values of the first objective are worth; the first pieces are steep, and beyond 0.6 all are alike.
PiecewiseLinear steps() {
  return {.places = {0, 0.2, 0.4, 0.6, 0.8}, .values = {0, 0.5, 0.6, 0.62, 0.62}};
}

double worth_of(double value) {
  const PiecewiseLinear scale = steps();
  const auto piece = static_cast<std::size_t>(std::clamp(value, 0.0, 0.79) / 0.2);
  return scale.values[piece] +
         (scale.values[piece + 1] - scale.values[piece]) * (value - scale.places[piece]) / 0.2;
}

TEST(HypervolumeImprovement, WithAScaleIsThatOfTheScaledValues) {
  RandomStream random(4);
  for (std::size_t objectives = 1; objectives <= 4; ++objectives) {
    const auto rows = static_cast<Eigen::Index>(objectives);
    Eigen::MatrixXd front = columns_of(trade_off_points(random, 20, objectives), objectives);
    Eigen::VectorXd reference = Eigen::VectorXd::Constant(rows, 0.75);
    Eigen::MatrixXd candidates = columns_of(trade_off_points(random, 50, objectives), objectives);
    const HypervolumeImprovement scaled(front, reference, {steps()});
    const Eigen::VectorXd gains = scaled(candidates, 0 * candidates);
    front.row(0) = front.row(0).unaryExpr(&worth_of);
    reference[0] = worth_of(reference[0]);
    candidates.row(0) = candidates.row(0).unaryExpr(&worth_of);
    const HypervolumeImprovement improvement(front, reference);
    const Eigen::VectorXd expected = improvement(candidates, 0 * candidates);
    EXPECT_LT((gains - expected).cwiseAbs().maxCoeff(), 1e-12) << objectives << " objectives";
    EXPECT_GT(gains.maxCoeff(), 0);
  }
}

TEST(HypervolumeImprovement, WithAScaleIsTheMeanOfWhatSamplesAdd) {
  constexpr Eigen::Index kSamples = 20000;
  RandomStream random(5);
  const HypervolumeImprovement improvement(columns_of(trade_off_points(random, 12, 2), 2),
                                           Eigen::VectorXd::Constant(2, 0.75), {steps()});
  for (const double mean : {-0.1, 0.1, 0.35, 0.5, 0.9}) {
    const Eigen::MatrixXd candidate{{mean}, {0.3}};
    Eigen::MatrixXd samples = Eigen::MatrixXd::Constant(2, kSamples, 0.3);
    for (double& value : samples.row(0))
      value = mean + 0.2 * normal_quantile((random.uniform() + 1e-9) / (1 + 2e-9));
    const Eigen::ArrayXd added = improvement(samples, 0 * samples);
    const double error = std::sqrt((added - added.mean()).square().mean() / kSamples);
    EXPECT_NEAR(improvement(candidate, Eigen::MatrixXd{{0.2}, {0.0}})[0], added.mean(), 4 * error) << mean;
  }
}

TEST(HypervolumeImprovement, OfOneObjectiveIsTheExpectedImprovement) {
  const Eigen::MatrixXd front{{0.7, 0.4, 0.9}};
  const HypervolumeImprovement improvement(front, Eigen::VectorXd::Ones(1));
  EXPECT_EQ(improvement.boxes(), 1);
  EXPECT_EQ(improvement(Eigen::MatrixXd{{0.5}}, Eigen::MatrixXd{{0.2}})[0],
            expected_improvement(0.4, 0.2, 0.5));
}

TEST(HypervolumeImprovement, OfAnEmptyFrontIsTheVolumeBelowTheReference) {
  const HypervolumeImprovement improvement(Eigen::MatrixXd(2, 0), Eigen::VectorXd::Ones(2));
  const Eigen::MatrixXd means{{0.5}, {0.75}};
  EXPECT_EQ(improvement(means, 0 * means)[0], 0.125);
}

TEST(HypervolumeImprovement, MakesFewBoxes) {
  RandomStream random(3);
  const std::vector<std::size_t> most{0, 1, 101, 201, 1500, 6000};
  for (std::size_t objectives = 1; objectives <= 5; ++objectives) {
    const HypervolumeImprovement improvement(
        columns_of(trade_off_points(random, 100, objectives), objectives),
        Eigen::VectorXd::Constant(static_cast<Eigen::Index>(objectives), 2.0));
    EXPECT_LE(improvement.boxes(), static_cast<Eigen::Index>(most[objectives]));
  }
}

TEST(HypervolumeImprovement, RefusesNanAndOtherNumbersOfObjectives) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Eigen::MatrixXd front{{0.2, 0.4}, {0.4, 0.2}};
  EXPECT_THROW(HypervolumeImprovement(front, Eigen::VectorXd::Ones(3)), InternalError);
  EXPECT_THROW(HypervolumeImprovement(front, Eigen::VectorXd::Constant(2, kNan)), InternalError);
  EXPECT_THROW(HypervolumeImprovement(kNan * front, Eigen::VectorXd::Ones(2)), InternalError);
  const HypervolumeImprovement improvement(front, Eigen::VectorXd::Ones(2));
  EXPECT_THROW(improvement(Eigen::MatrixXd::Ones(3, 1), Eigen::MatrixXd::Ones(3, 1)), InternalError);
}

}  // namespace
}  // namespace skyline::search
