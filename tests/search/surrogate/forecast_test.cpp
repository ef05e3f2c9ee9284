#include "search/surrogate/forecast.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/model_points.hpp"

#include <numeric>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::mixed_parameters;
using testing::part_of;
using testing::random_points;

/// A process that gets its points little by little, and candidates with keys from 0 on.
class ForecastOfAProcess : public ::testing::Test {
 protected:
  ForecastOfAProcess() { std::iota(keys_.begin(), keys_.end(), std::uint64_t{0}); }

  void add_points(Eigen::Index count) {
    process_.add(part_of(points_, process_.size(), count));
    process_.fit(targets_.head(process_.size() / 2));
  }

  void expect_same_as_process(Forecast& forecast, Eigen::Index begin, Eigen::Index count) {
    const Points candidates = part_of(candidates_, begin, count);
    const std::span keys(keys_);
    const Prediction actual = forecast.predict(
        candidates, keys.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)));
    const Prediction expected = process_.predict(candidates);
    EXPECT_EQ(actual.mean, expected.mean);
    EXPECT_EQ(actual.deviation, expected.deviation);
  }

  RandomStream random_{1};
  Points points_ = random_points(random_, 100, 3);
  Points candidates_ = random_points(random_, 30, 3);
  Eigen::VectorXd targets_ = Eigen::VectorXd::LinSpaced(100, -1, 1);
  std::vector<std::uint64_t> keys_ = std::vector<std::uint64_t>(30);
  GaussianProcess process_{measured_space(mixed_parameters(), points_)};
};

TEST_F(ForecastOfAProcess, PredictsTheSameBitsAsTheProcess) {
  Forecast forecast(process_, 1 << 20);
  process_.fit({});
  expect_same_as_process(forecast, 0, 10);
  add_points(21);
  expect_same_as_process(forecast, 0, 10);
  add_points(1);
  expect_same_as_process(forecast, 5, 20);
  add_points(40);
  expect_same_as_process(forecast, 0, 30);
  process_.fit(targets_.head(50));
  expect_same_as_process(forecast, 3, 7);
}

TEST_F(ForecastOfAProcess, FollowsPointsThatAreDroppedAndOtherHyperParameters) {
  Forecast forecast(process_, 1 << 20);
  add_points(40);
  expect_same_as_process(forecast, 0, 20);
  process_.truncate(17);
  process_.add(part_of(points_, 60, 30));
  process_.fit(targets_.head(40));
  expect_same_as_process(forecast, 0, 30);
  process_.truncate(10);
  process_.fit(targets_.head(10));
  expect_same_as_process(forecast, 0, 30);
  process_.set_hyper({0.5, 0.8, 0.5, 0.2});
  process_.fit(targets_.head(10));
  expect_same_as_process(forecast, 0, 30);
}

TEST_F(ForecastOfAProcess, PredictsTheSameWithRoomForFewOrNoCandidates) {
  Forecast few(process_, 2000);
  Forecast none(process_, 0);
  for (int step = 0; step < 5; ++step) {
    add_points(13);
    expect_same_as_process(few, step, 20);
    expect_same_as_process(none, step, 20);
  }
}

TEST_F(ForecastOfAProcess, TakesACandidateTwice) {
  Forecast forecast(process_, 1 << 20);
  add_points(30);
  Points twice = part_of(candidates_, 0, 2);
  twice.parameters.col(1) = twice.parameters.col(0);
  twice.features.col(1) = twice.features.col(0);
  const Prediction prediction = forecast.predict(twice, std::vector<std::uint64_t>{7, 7});
  EXPECT_EQ(prediction.mean, process_.predict(twice).mean);
  EXPECT_THROW(forecast.predict(twice, std::vector<std::uint64_t>{7}), InternalError);
}

}  // namespace
}  // namespace skyline::search
