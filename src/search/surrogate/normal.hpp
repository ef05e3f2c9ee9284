#pragma once

namespace skyline::search {

/// Returns the density of the standard normal distribution.
double normal_density(double value);
/// Returns the probability of a value of at most `value`.
double normal_distribution(double value);
/// Returns the value that is exceeded with probability 1 - `probability`, which lies between 0 and 1.
/// @see Acklam, An algorithm for computing the inverse normal cumulative distribution function, 2003; and one
/// step of
///      Halley's method, so that it is exact but for the last digits
double normal_quantile(double probability);

/// Returns the mean of max(Y - best, 0), where Y is normal. A deviation of 0 is an exact value.
double expected_improvement(double mean, double deviation, double best);

}  // namespace skyline::search
