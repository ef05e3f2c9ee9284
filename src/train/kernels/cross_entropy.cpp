#include "train/kernels/cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace skyline::train::kernels {
namespace {

/// Writes the wanted probabilities and returns their sum.
/// @param wanted  out: [classes]
double fill_target(const Targets& targets, const TargetRule& rule, std::size_t sample,
                   std::vector<double>& wanted) {
  std::ranges::fill(wanted, rule.smoothing / static_cast<double>(wanted.size()));
  const double share = targets.shares == nullptr ? 1 : static_cast<double>(targets.shares[sample]);
  wanted[static_cast<std::size_t>(targets.labels[sample])] += (1 - rule.smoothing) * share;
  if (targets.others != nullptr) {
    wanted[static_cast<std::size_t>(targets.others[sample])] += (1 - rule.smoothing) * (1 - share);
  }
  double sum = 0;
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    if (rule.weights != nullptr) wanted[c] *= static_cast<double>(rule.weights[c]);
    sum += wanted[c];
  }
  return sum;
}

}  // namespace

double cross_entropy(const float* logits, const Targets& targets, const TargetRule& rule, std::size_t samples,
                     std::size_t classes, float* gradient, std::size_t batch) {
  double loss_sum = 0;
  std::vector<double> wanted(classes);
  for (std::size_t s = 0; s < samples; ++s) {
    const float* row = logits + s * classes;
    const auto best = static_cast<std::size_t>(std::max_element(row, row + classes) - row);
    const double sum = fill_target(targets, rule, s, wanted);
    double total = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      total += std::exp(static_cast<double>(row[c]) - static_cast<double>(row[best]));
    }
    const double log_total = std::log(total) + static_cast<double>(row[best]);
    double loss = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      if (wanted[c] > 0) loss += wanted[c] * (log_total - static_cast<double>(row[c]));
    }
    loss_sum += loss;
    if (gradient == nullptr) continue;
    for (std::size_t c = 0; c < classes; ++c) {
      const double probability =
          std::exp(static_cast<double>(row[c]) - static_cast<double>(row[best])) / total;
      gradient[s * classes + c] =
          static_cast<float>((sum * probability - wanted[c]) / static_cast<double>(batch));
    }
  }
  return loss_sum;
}

}  // namespace skyline::train::kernels
