#include "search/surrogate/rung_targets.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/normal.hpp"
#include "search/surrogate/reference_values.hpp"

#include <cmath>
#include <iterator>
#include <vector>

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

using Kind = RungTargets::Kind;

RungResult result(std::uint64_t id, double budget, std::optional<double> value) {
  return {value, budget, space::ArchId{id}};
}

TEST(RungTargets, AreThoseOfTheValuesWhereThereIsOneBudget) {
  const std::vector<RungResult> results{result(1, 0, 0.5), result(2, 0, {}), result(3, 0, 0.9),
                                        result(4, 0, 0.6)};
  const RungTargets objective(results, Kind::kObjective);
  EXPECT_EQ(objective.values, Eigen::Vector4d(0.5, 0.5, 0.9, 0.6)) << "a failure is the worst";
  EXPECT_EQ(objective.targets, surrogate_targets(objective.values));
  const RungTargets number(results, Kind::kNumber);
  EXPECT_NEAR(number.values[1], 2.0 / 3, 1e-12) << "a failure is the mean";
  for (Eigen::Index i = 0; i < 4; ++i) {
    EXPECT_NEAR(number.offset + number.scale * number.targets[i], number.values[i], 1e-12);
  }
}

TEST(RungTargets, OfALargerBudgetCentreOnThoseOfTheSameArchitecturesBefore) {
  std::vector<RungResult> results;
  for (std::uint64_t id = 0; id < 6; ++id) results.push_back(result(id, -3, 0.1 * static_cast<double>(id)));
  // The best two go on, and all values grow; they change places.
  results.push_back(result(5, 0, 0.91));
  results.push_back(result(4, 0, 0.95));
  const Eigen::VectorXd targets = RungTargets(results, Kind::kObjective).targets;
  const Eigen::VectorXd first = surrogate_targets(Eigen::VectorXd::LinSpaced(6, 0, 0.5));
  EXPECT_TRUE(targets.head(6).isApprox(first));
  const double centre = (first[4] + first[5]) / 2;
  EXPECT_NEAR((targets[6] + targets[7]) / 2, centre, 1e-12) << "the mean of the two";
  const double half = (first[5] - first[4]) / 2;
  const double spread = std::sqrt((2 * half * half + 1) / 3);  // with faith in 1 as of one result
  const Eigen::VectorXd own = surrogate_targets(Eigen::Vector2d(0.91, 0.95));
  EXPECT_NEAR(targets[6], centre + spread * own[0], 1e-12);
  EXPECT_NEAR(targets[7], centre + spread * own[1], 1e-12);
}

TEST(RungTargets, KeepTheUnitOfNumbersOfTheLargestBudget) {
  const std::vector<RungResult> results{result(1, -1, 10.0), result(2, -1, 20.0), result(3, -1, 60.0),
                                        result(2, 0, 25.0), result(3, 0, 70.0)};
  const RungTargets number(results, Kind::kNumber);
  EXPECT_NEAR(number.offset + number.scale * number.targets[3], 25, 1e-9);
  EXPECT_NEAR(number.offset + number.scale * number.targets[4], 70, 1e-9);
}

}  // namespace
}  // namespace skyline::search
