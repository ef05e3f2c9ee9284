#include "search/surrogate/normal.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

namespace skyline::search {

namespace {

/// The polynomial of these coefficients, that of the highest power first.
double polynomial(std::span<const double> coefficients, double value) {
  double sum = 0;
  for (const double coefficient : coefficients) sum = sum * value + coefficient;
  return sum;
}

/// The quantile of a probability of at most a half, with a relative error of 1e-9.
double approximate_quantile(double probability) {
  constexpr double kTail = 0.02425;
  if (probability < kTail) {
    const double q = std::sqrt(-2 * std::log(probability));
    return polynomial({{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                        -2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00}},
                      q) /
           polynomial({{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                        3.754408661907416e+00, 1}},
                      q);
  }
  const double q = probability - 0.5;
  const double r = q * q;
  return q *
         polynomial({{-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
                      1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00}},
                    r) /
         polynomial({{-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                      6.680131188771972e+01, -1.328068155288572e+01, 1}},
                    r);
}

}  // namespace

double normal_density(double value) {
  return std::exp(-0.5 * value * value) / (std::numbers::sqrt2 / std::numbers::inv_sqrtpi);
}

double normal_distribution(double value) {
  return 0.5 * std::erfc(-value / std::numbers::sqrt2);
}

double normal_quantile(double probability) {
  require(probability > 0 && probability < 1,
          "a quantile is asked for a probability that is not between 0 and 1");
  if (probability > 0.5) return -normal_quantile(1 - probability);
  const double value = approximate_quantile(probability);
  const double step = (normal_distribution(value) - probability) / normal_density(value);
  return value - step / (1 + 0.5 * value * step);
}

double expected_improvement(double mean, double deviation, double best) {
  const double gain = mean - best;
  if (deviation == 0) return std::max(gain, 0.0);
  const double steps = gain / deviation;
  return std::max(gain * normal_distribution(steps) + deviation * normal_density(steps), 0.0);
}

}  // namespace skyline::search
