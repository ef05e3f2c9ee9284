#include "search/surrogate/targets.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/normal.hpp"
#include "search/surrogate/reference_values.hpp"

#include <cmath>
#include <iterator>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

TEST(SurrogateTargets, AreThoseOfTheReference) {
  const Eigen::Map<const Eigen::VectorXd> values(testing::kValues, std::ssize(testing::kValues));
  const Eigen::VectorXd targets = surrogate_targets(values);
  for (Eigen::Index place = 0; place < targets.size(); ++place) {
    EXPECT_NEAR(targets[place], testing::kTargets[place], 1e-12);
  }
}

TEST(SurrogateTargets, KeepTheOrderOfValuesHoweverFarApart) {
  Eigen::VectorXd values(5);
  values << 1e9, 3, 3, 2, -1e9;
  const Eigen::VectorXd targets = surrogate_targets(values);
  EXPECT_GT(targets[0], targets[1]);
  EXPECT_EQ(targets[1], targets[2]);
  EXPECT_GT(targets[2], targets[3]);
  EXPECT_GT(targets[3], targets[4]);
  EXPECT_LT(targets.cwiseAbs().maxCoeff(), 3);
}

TEST(SurrogateTargets, AreZeroForEqualValuesAndNoneForNone) {
  EXPECT_EQ(surrogate_targets(Eigen::VectorXd::Constant(4, 7)), Eigen::VectorXd::Zero(4));
  EXPECT_EQ(surrogate_targets({}).size(), 0);
}

TEST(Normal, QuantilesAreThoseOfScipy) {
  for (std::size_t place = 0; place < std::size(testing::kProbabilities); ++place) {
    const double expected = testing::kQuantiles[place];
    EXPECT_NEAR(normal_quantile(testing::kProbabilities[place]), expected, 1e-12 * std::abs(expected))
        << testing::kProbabilities[place];
  }
  EXPECT_THROW(normal_quantile(0), InternalError);
  EXPECT_THROW(normal_quantile(1), InternalError);
}

TEST(Normal, TheDistributionUndoesTheQuantile) {
  for (double probability = 0.001; probability < 1; probability += 0.007) {
    EXPECT_NEAR(normal_distribution(normal_quantile(probability)), probability, 1e-14);
  }
}

TEST(Normal, ImprovementsAreThoseOfScipy) {
  for (std::size_t place = 0; place < std::size(testing::kImprovements); ++place) {
    const double* const values = testing::kImprovementCases + 3 * place;
    const double expected = testing::kImprovements[place];
    EXPECT_NEAR(expected_improvement(values[0], values[1], values[2]), expected, 1e-10 * expected);
  }
}

TEST(Normal, TheImprovementOfAnExactValueIsItsGain) {
  EXPECT_EQ(expected_improvement(1.5, 0, 1), 0.5);
  EXPECT_EQ(expected_improvement(0.5, 0, 1), 0);
  EXPECT_NEAR(expected_improvement(1.5, 1e-9, 1), 0.5, 1e-12);
}

}  // namespace
}  // namespace skyline::search
