#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace skyline::report {

struct Mean {
  std::size_t count = 0;
  double value = 0;
  /// Half of the width of its 95 % confidence interval (Student's t); nullopt for fewer than two values.
  std::optional<double> margin;
};
/// @pre the sample is not empty
Mean mean_of(std::span<const double> sample);

/// A two-sided test of whether values of one sample tend to be larger than those of another.
struct RankTest {
  double u = 0;  // pairs in which the left value is larger; ties count half
  double p = 1;
};
/// Computes the Mann-Whitney U test. The p-value is exact if one of the samples has at most 8 values and no
/// two values are equal. Otherwise it comes from the normal distribution, with corrections for ties and
/// continuity. scipy's mannwhitneyu gives the same. @pre no sample is empty
/// @see Mann and Whitney, Ann. Math. Statist. 18(1), 1947
RankTest mann_whitney(std::span<const double> left, std::span<const double> right);

}  // namespace skyline::report
