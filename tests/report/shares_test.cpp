#include "report/files/answers.hpp"

#include <gtest/gtest.h>

namespace skyline::report {
namespace {

TEST(WilsonInterval, IsThatOfStatsmodels) {
  // statsmodels.stats.proportion.proportion_confint(..., method="wilson")
  const Interval usual = wilson_interval(285 / 288.0, 288);
  EXPECT_NEAR(usual.low, 0.969827, 1e-6);
  EXPECT_NEAR(usual.high, 0.996451, 1e-6);
  const Interval all = wilson_interval(1, 29);
  EXPECT_NEAR(all.low, 0.883030, 1e-6);
  EXPECT_EQ(all.high, 1);
  EXPECT_EQ(wilson_interval(0, 29).low, 0);
}

TEST(Shares, AreApartWhereChanceSeldomMakesThemDifferSoMuch) {
  EXPECT_FALSE(are_shares_apart(285 / 288.0, 284 / 288.0, 288));
  EXPECT_FALSE(are_shares_apart(285 / 288.0, 279 / 288.0, 288)) << "z is 1.75";
  EXPECT_TRUE(are_shares_apart(277 / 288.0, 285 / 288.0, 288)) << "z is 2.16";
  EXPECT_FALSE(are_shares_apart(1, 1, 10));
}

}  // namespace
}  // namespace skyline::report
