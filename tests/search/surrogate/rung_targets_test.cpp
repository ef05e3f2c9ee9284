#include "search/surrogate/rung_targets.hpp"

#include "search/surrogate/targets.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

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
