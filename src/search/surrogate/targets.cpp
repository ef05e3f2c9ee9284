#include "search/surrogate/targets.hpp"

#include "search/surrogate/normal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace skyline::search {

namespace {

/// The normal quantile of each value's rank; equal values share the mean of their ranks.
Eigen::ArrayXd quantiles_of_ranks(const Eigen::VectorXd& values) {
  std::vector<Eigen::Index> order(static_cast<std::size_t>(values.size()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::sort(order.begin(), order.end(),
            [&](Eigen::Index left, Eigen::Index right) { return values[left] < values[right]; });
  Eigen::ArrayXd quantiles(values.size());
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end =
        std::find_if(begin, order.end(), [&](Eigen::Index place) { return values[place] != values[*begin]; });
    const auto ranks =
        static_cast<double>((begin - order.begin()) + (end - order.begin()));  // twice the mean, plus 1
    const double quantile = normal_quantile(0.5 * ranks / static_cast<double>(values.size()));
    for (; begin != end; ++begin) quantiles[*begin] = quantile;
  }
  return quantiles;
}

}  // namespace

Eigen::VectorXd surrogate_targets(const Eigen::VectorXd& values) {
  if (values.size() == 0) return values;
  const Eigen::ArrayXd centered = values.array() - values.mean();
  const double deviation = std::sqrt(centered.square().mean());
  const Eigen::ArrayXd targets =
      0.5 * quantiles_of_ranks(values) + 0.5 * (centered / (deviation + 1e-9)).max(-2.0).min(2.0);
  return targets - targets.mean();
}

}  // namespace skyline::search
