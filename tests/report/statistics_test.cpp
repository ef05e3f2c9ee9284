#include "report/compare/statistics.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using Sample = std::vector<double>;

TEST(Mean, HasTheIntervalOfStudentsDistribution) {
  const Mean mean = mean_of(Sample{1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(mean.value, 2.5);
  EXPECT_NEAR(mean.margin.value(), 3.1824463052837078 * 1.2909944487358056 / 2, 1e-12);
  // Spread of 2 values: half their distance, times the quantile with one degree of freedom.
  EXPECT_NEAR(mean_of(Sample{0, 2}).margin.value(), 12.706204736174694, 1e-9);
  Sample thirty_one(31, 0.0);
  thirty_one.front() = 31;  // mean 1, deviation of the mean 1
  EXPECT_NEAR(mean_of(thirty_one).margin.value(), 2.0422724563012378, 1e-12);
}

TEST(Mean, HasNoIntervalOfASingleValue) {
  EXPECT_EQ(mean_of(Sample{5}).value, 5);
  EXPECT_FALSE(mean_of(Sample{5}).margin);
}

void expect_test(const Sample& left, const Sample& right, double u, double p) {
  EXPECT_DOUBLE_EQ(mann_whitney(left, right).u, u);
  EXPECT_NEAR(mann_whitney(left, right).p, p, 1e-14);
  EXPECT_DOUBLE_EQ(mann_whitney(right, left).u, static_cast<double>(left.size() * right.size()) - u);
  EXPECT_NEAR(mann_whitney(right, left).p, p, 1e-14);
}

/// The values are those of scipy 1.17.1.
TEST(MannWhitney, IsExactForSmallSamples) {
  expect_test({1, 2, 3}, {4, 5, 6}, 0, 0.1);
  expect_test({0.81, 0.83, 0.82, 0.85, 0.8}, {0.79, 0.78, 0.815, 0.77, 0.76, 0.805}, 27,
              0.030303030303030304);
  expect_test({3, 1, 4, 1.5, 9, 2.6, 5.3, 5.8}, {9.7, 9.3, 2.3, 8.4, 6.2, 6.4, 3.3, 8.3, 2.7, 9.5, 0.2, 8.8},
              28, 0.13493688973565135);
}

TEST(MannWhitney, AgreesWithTheEnumerationOfAllSplits) {
  const Sample left{0.3, 0.7, 0.1};
  const Sample right{0.2, 0.9, 0.4, 0.6, 0.8};
  Sample all = left;
  all.insert(all.end(), right.begin(), right.end());
  std::vector<bool> in_left(all.size(), false);
  std::fill(in_left.end() - 3, in_left.end(), true);
  const double found = std::max(mann_whitney(left, right).u, mann_whitney(right, left).u);
  double splits = 0;
  double as_far = 0;
  do {
    double u = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < all.size(); ++j) {
        if (in_left[i] && !in_left[j] && all[i] > all[j]) ++u;
      }
    }
    ++splits;
    if (u >= found) ++as_far;
  } while (std::next_permutation(in_left.begin(), in_left.end()));
  EXPECT_NEAR(mann_whitney(left, right).p, std::min(1.0, 2 * as_far / splits), 1e-14);
}

TEST(MannWhitney, IsNormalForLargeSamplesAndThoseWithTies) {
  Sample left;
  Sample right;
  for (int i = 0; i < 12; ++i) left.push_back(i * 1.1);
  for (int i = 0; i < 9; ++i) right.push_back(i * 1.3 + 0.05);
  expect_test(left, right, 60, 0.695894823170777);
  expect_test({1, 2, 2, 3}, {2, 4, 5}, 2, 0.19908985214820463);
  expect_test({0, 1, 2, 3, 4, 0, 1, 2, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3}, 49, 0.6943544730304549);
  expect_test({5, 5, 5}, {5, 5, 5, 5}, 6, 1);
}

}  // namespace
}  // namespace skyline::report
