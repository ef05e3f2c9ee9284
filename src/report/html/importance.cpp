#include "report/html/importance.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace skyline::report {
namespace {

constexpr double kBestShare = 0.1;          // share of the trials, the paper's gamma'
constexpr std::size_t kMostSteps = 50;      // steps of the grid to which an ordered parameter is rounded
constexpr std::size_t kFewestUsing = 2;     // fewest trials that must use a parameter
constexpr double kPriorWeight = 1;          // weight, in observations, of the kernel that covers all values
constexpr double kTiny = 1e-12;             // keeps densities above 0
constexpr double kLeastWidth = 0.5 / 1.64;  // width of a kernel, so that 90 % of it lie within one step

using Counts = std::vector<double>;     // number of trials per step of the grid
using Densities = std::vector<double>;  // density per step of the grid, with the sum 1

/// Adds a normal distribution over the steps 0 to size - 1. Each step reaches half a step to both sides, and
/// the distribution is cut at both ends.
void add_kernel(Densities& density, double weight, double mean, double width) {
  const auto below = [&](double edge) {
    return 0.5 * std::erfc((mean - edge) / width / std::numbers::sqrt2);
  };
  const double all = below(static_cast<double>(density.size()) - 0.5) - below(-0.5);
  for (std::size_t i = 0; i < density.size(); ++i) {
    const auto step = static_cast<double>(i);
    density[i] += weight * (below(step + 0.5) - below(step - 0.5)) / all;
  }
}

/// Returns the width of the kernels by Scott's rule, from the smaller one of deviation and quartile range.
double scott_width(const Counts& counts, double total) {
  double mean = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) mean += static_cast<double>(i) * counts[i] / total;
  double squares = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    squares += counts[i] * (static_cast<double>(i) - mean) * (static_cast<double>(i) - mean);
  }
  const double deviation = std::sqrt(squares / std::max(1.0, total - 1));
  // Returns the first step at which the running sum reaches (lower) or passes (upper) a quarter.
  const auto quartile = [&](double rank, bool passes) {
    double sum = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      last = i;
      sum += counts[i];
      if (passes ? sum > rank : sum >= rank) break;
    }
    return static_cast<double>(last);
  };
  const double range = quartile(std::floor(total * 3 / 4), true) - quartile(std::floor(total / 4), false);
  const double width = 1.059 * std::min(range / 1.34, deviation) * std::pow(total, -0.2);
  return std::max(width, kLeastWidth);
}

Densities ordered_density(const Counts& counts, double total) {
  Densities density(counts.size(), kTiny);
  const double width = scott_width(counts, total);
  const double weight = 1 / (total + kPriorWeight);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) add_kernel(density, counts[i] * weight, static_cast<double>(i), width);
  }
  const auto steps = static_cast<double>(counts.size());
  add_kernel(density, kPriorWeight * weight, (steps - 1) / 2, steps);
  return density;
}

Densities named_density(const Counts& counts, double total) {
  const auto names = static_cast<double>(counts.size());
  const auto seen =
      static_cast<double>(std::ranges::count_if(counts, [](double count) { return count > 0; }));
  // There is a kernel for each name that was seen, and one for all. Each spreads some of its weight over all.
  const double spread = kPriorWeight / (seen + 1);
  const double kernel = 1 + names * spread;
  const double others = total * spread / kernel + kPriorWeight / names;
  Densities density(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    density[i] = kTiny + (counts[i] / kernel + others) / (total + kPriorWeight);
  }
  return density;
}

/// Returns Pearson's divergence between a parameter's distributions among the best trials and among all.
double divergence(const ParameterColumn& parameter, const std::vector<std::size_t>& best,
                  const std::vector<std::size_t>& all) {
  const std::size_t steps = parameter.ordered ? std::min(parameter.values, kMostSteps) : parameter.values;
  const double step_size = static_cast<double>(parameter.values - 1) / static_cast<double>(steps - 1);
  const auto density = [&](const std::vector<std::size_t>& trials) {
    Counts counts(steps);
    for (const std::size_t trial : trials) {
      const double place = std::ceil(parameter.choices[trial] / step_size - 0.5);
      ++counts[std::min(static_cast<std::size_t>(std::max(place, 0.0)), steps - 1)];
    }
    const auto total = static_cast<double>(trials.size());
    return parameter.ordered ? ordered_density(counts, total) : named_density(counts, total);
  };
  const Densities of_best = density(best);
  const Densities of_all = density(all);
  double sum = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    const double ratio = of_best[i] / of_all[i] - 1;
    sum += of_all[i] * ratio * ratio;
  }
  return sum;
}

/// Returns the best tenth of the trials, with all trials that are as good as the last of them.
std::vector<std::size_t> best_trials(std::span<const double> minimized) {
  std::vector<double> sorted(minimized.begin(), minimized.end());
  const auto count = static_cast<std::size_t>(std::ceil(kBestShare * static_cast<double>(sorted.size())));
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(count) - 1;
  std::nth_element(sorted.begin(), last, sorted.end());
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < minimized.size(); ++i) {
    if (minimized[i] <= *last) best.push_back(i);
  }
  return best;
}

std::vector<std::size_t> using_it(const ParameterColumn& parameter, const std::vector<std::size_t>& trials) {
  std::vector<std::size_t> found;
  std::ranges::copy_if(trials, std::back_inserter(found),
                       [&](std::size_t trial) { return parameter.choices[trial] >= 0; });
  return found;
}

}  // namespace

std::vector<double> parameter_importance(std::span<const ParameterColumn> parameters,
                                         std::span<const double> minimized) {
  std::vector<double> importance(parameters.size());
  if (minimized.size() < 2) return importance;
  std::vector<std::size_t> all(minimized.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::size_t> best = best_trials(minimized);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const ParameterColumn& parameter = parameters[p];
    require(parameter.choices.size() == minimized.size(), "a parameter without a value for each trial");
    const auto best_users = using_it(parameter, best);
    const auto users = using_it(parameter, all);
    if (parameter.values < 2 || users.size() < kFewestUsing || best_users.empty()) continue;
    const double share_of_best = static_cast<double>(best_users.size()) / static_cast<double>(best.size());
    const double share_of_all = static_cast<double>(users.size()) / static_cast<double>(all.size());
    importance[p] = share_of_best * share_of_best / share_of_all * divergence(parameter, best_users, users);
  }
  const double sum = std::accumulate(importance.begin(), importance.end(), 0.0);
  if (sum > 0) {
    for (double& value : importance) value /= sum;
  }
  return importance;
}

}  // namespace skyline::report
