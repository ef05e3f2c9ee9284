#include "report/files/shares.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::report {
namespace {

constexpr double kNormalQuantile = 1.959963984540054;  // of 97.5 %

}  // namespace

Interval wilson_interval(double share, std::uint64_t samples) {
  const auto count = static_cast<double>(samples);
  const double square = kNormalQuantile * kNormalQuantile;
  const double centre = share + square / (2 * count);
  const double margin =
      kNormalQuantile * std::sqrt(share * (1 - share) / count + square / (4 * count * count));
  const double scale = 1 + square / count;
  return {std::max(0.0, (centre - margin) / scale), std::min(1.0, (centre + margin) / scale)};
}

bool are_shares_apart(double left, double right, std::uint64_t samples) {
  const double common = (left + right) / 2;
  const double deviation = std::sqrt(2 * common * (1 - common) / static_cast<double>(samples));
  return std::abs(left - right) > kNormalQuantile * deviation;
}

}  // namespace skyline::report
