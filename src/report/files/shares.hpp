#pragma once

#include <cstdint>

namespace skyline::report {

struct Interval {
  double low = 0;
  double high = 0;
};
/// Returns the 95 % confidence interval of a share of right answers.
/// @pre samples > 0
/// @see Wilson, J. Am. Stat. Assoc. 22(158), 1927
Interval wilson_interval(double share, std::uint64_t samples);
/// Returns whether two shares, each of so many samples, differ by more than chance: a two-sided test of two
/// proportions at 95 %, with their common variance.
bool are_shares_apart(double left, double right, std::uint64_t samples);

}  // namespace skyline::report
