#include "report/compare/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <vector>

namespace skyline::report {
namespace {

constexpr double kConfidence = 0.95;
constexpr std::size_t kSmallSample = 8;

/// Returns the probability that Student's t is between -t and t.
/// @see Abramowitz and Stegun, 26.7.3 and 26.7.4
double student_probability(double t, std::size_t freedom) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double square = std::cos(angle) * std::cos(angle);
  const bool odd = freedom % 2 == 1;
  double term = odd ? std::cos(angle) : 1;
  double sum = 0;
  for (std::size_t k = odd ? 3 : 2; k <= freedom; k += 2) {
    sum += term;
    term *= square * static_cast<double>(k - 1) / static_cast<double>(k);
  }
  return odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
}

/// Returns the t for which the interval from -t to t has the probability of the confidence.
double student_quantile(std::size_t freedom) {
  double low = 0;
  double high = 1;
  while (student_probability(high, freedom) < kConfidence) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (student_probability(middle, freedom) < kConfidence ? low : high) = middle;
  }
  return high;
}

/// Returns the probability of each U for samples of these sizes without ties from one distribution.
std::vector<double> u_distribution(std::size_t left, std::size_t right) {
  const std::size_t size = left * right + 1;
  // of[l] is the distribution of U for l left values and the right values added so far. Recurrence: the
  // largest value is either a left one, which is larger than all right ones, or a right one.
  std::vector<std::vector<double>> of(left + 1, std::vector<double>(size, 0.0));
  for (auto& distribution : of) distribution[0] = 1;
  for (std::size_t n = 1; n <= right; ++n) {
    for (std::size_t m = 1; m <= left; ++m) {
      const double share = static_cast<double>(m) / static_cast<double>(m + n);
      for (std::size_t u = 0; u < size; ++u) {
        of[m][u] = (1 - share) * of[m][u] + (u >= n ? share * of[m - 1][u - n] : 0);
      }
    }
  }
  return of[left];
}

double exact_p(double larger_u, std::size_t left, std::size_t right) {
  const std::vector<double> probability = u_distribution(left, right);
  const auto first = probability.begin() + static_cast<std::ptrdiff_t>(larger_u);
  return std::min(1.0, 2 * std::accumulate(first, probability.end(), 0.0));
}

/// @param ties  sizes of the groups of equal values
double normal_p(double larger_u, double left, double right, const std::vector<double>& ties) {
  const double all = left + right;
  double tied = 0;
  for (const double size : ties) tied += size * size * size - size;
  const double variance = left * right / 12 * (all + 1 - tied / (all * (all - 1)));
  if (variance <= 0) return 1;  // all values are equal
  const double z = (larger_u - left * right / 2 - 0.5) / std::sqrt(variance);
  return std::min(1.0, std::erfc(z / std::numbers::sqrt2));
}

}  // namespace

Mean mean_of(std::span<const double> sample) {
  const auto count = static_cast<double>(sample.size());
  Mean mean{sample.size(), std::accumulate(sample.begin(), sample.end(), 0.0) / count, {}};
  if (sample.size() < 2) return mean;
  if (std::ranges::min(sample) == std::ranges::max(sample)) return {sample.size(), sample.front(), 0.0};
  double squares = 0;
  for (const double value : sample) squares += (value - mean.value) * (value - mean.value);
  mean.margin = student_quantile(sample.size() - 1) * std::sqrt(squares / (count - 1) / count);
  return mean;
}

RankTest mann_whitney(std::span<const double> left, std::span<const double> right) {
  double u = 0;
  std::map<double, double> counts;
  for (const double value : left) {
    ++counts[value];
    for (const double other : right) u += value > other ? 1 : value == other ? 0.5 : 0;
  }
  for (const double value : right) ++counts[value];
  std::vector<double> ties;
  for (const auto& [value, count] : counts) {
    if (count > 1) ties.push_back(count);
  }
  const auto pairs = static_cast<double>(left.size() * right.size());
  const double larger = std::max(u, pairs - u);
  const bool small = std::min(left.size(), right.size()) <= kSmallSample;
  if (small && ties.empty()) return {u, exact_p(larger, left.size(), right.size())};
  return {u, normal_p(larger, static_cast<double>(left.size()), static_cast<double>(right.size()), ties)};
}

}  // namespace skyline::report
