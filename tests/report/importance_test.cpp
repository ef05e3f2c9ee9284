#include "report/html/importance.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

/// Trials by a generator that Python has as well: depth (12 values), width (4), length (60), all numbers;
/// kind (3 names) and gate (2 names), which one of the kinds does not have.
struct DrawnTrials {
  std::vector<ParameterColumn> parameters{
      {12, true, {}}, {4, true, {}}, {60, true, {}}, {3, false, {}}, {2, false, {}}};
  std::vector<double> values;
  std::int64_t state = 12345;

  std::int32_t draw(std::int32_t below) {
    state = (state * 1103515245 + 12345) % 2147483648;
    return static_cast<std::int32_t>((state >> 16) % below);
  }
  explicit DrawnTrials(int count) {
    for (int i = 0; i < count; ++i) {
      const std::int32_t depth = draw(12);
      const std::int32_t width = draw(4);
      const std::int32_t length = draw(60);
      const std::int32_t kind = draw(3);
      const std::int32_t gate = kind == 0 ? -1 : draw(2);
      const std::int32_t choices[] = {depth, width, length, kind, gate};
      for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p].choices.push_back(choices[p]);
      values.push_back(depth * 3 + (kind == 1 ? 40 : 0) + length / 10 + (gate == 1 ? 5 : 0) + draw(10));
    }
  }
};

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  constexpr double kTolerance = 1e-9;
  EXPECT_THAT(found, ::testing::Pointwise(::testing::DoubleNear(kTolerance), expected));
}

// The expected values are those of Optuna 5.0.0 (PedAnovaImportanceEvaluator with its defaults) for the same
// trials.
TEST(Importance, IsThatOfOptunaForManyTrials) {
  const DrawnTrials trials(200);
  expect_near(parameter_importance(trials.parameters, trials.values),
              {0.867939448356, 0.00275149618022, 0.0809919046201, 0.0473893512751, 0.000927799568535});
}

TEST(Importance, IsThatOfOptunaForFewTrials) {
  const DrawnTrials trials(30);
  expect_near(parameter_importance(trials.parameters, trials.values),
              {0.967299280294, 0.00642738302673, 0.0124383306582, 0.0120443305223, 0.00179067549903});
}

TEST(Importance, OfAllParametersSumsToOne) {
  const DrawnTrials trials(50);
  const auto importance = parameter_importance(trials.parameters, trials.values);
  EXPECT_NEAR(std::accumulate(importance.begin(), importance.end(), 0.0), 1, 1e-12);
}

TEST(Importance, IsZeroWhereNothingCanBeTold) {
  const ParameterColumn constant{1, true, {0, 0, 0}};
  const ParameterColumn unused{2, false, {-1, -1, -1}};
  EXPECT_THAT(parameter_importance({{constant, unused}}, std::vector<double>{1, 2, 3}),
              ::testing::ElementsAre(0, 0));
  EXPECT_THAT(parameter_importance({{{2, true, {1}}}}, std::vector<double>{1}), ::testing::ElementsAre(0));
  EXPECT_THAT(parameter_importance({{{2, true, {}}}}, {}), ::testing::ElementsAre(0));
}

TEST(Importance, IsZeroIfAllTrialsAreEquallyGood) {
  const ParameterColumn parameter{3, true, {0, 1, 2, 2}};
  EXPECT_THAT(parameter_importance({{parameter}}, std::vector<double>{7, 7, 7, 7}),
              ::testing::ElementsAre(0));
}

}  // namespace
}  // namespace skyline::report
