#include "train/kernels/cross_entropy.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::train::kernels {

BatchScore cross_entropy(const float* logits, const std::int64_t* labels, std::size_t samples,
                         std::size_t classes, float* gradient, std::size_t batch) {
  BatchScore score;
  for (std::size_t s = 0; s < samples; ++s) {
    const float* row = logits + s * classes;
    const auto label = static_cast<std::size_t>(labels[s]);
    const auto best = static_cast<std::size_t>(std::max_element(row, row + classes) - row);
    double total = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      total += std::exp(static_cast<double>(row[c]) - static_cast<double>(row[best]));
    }
    score.loss_sum += std::log(total) + static_cast<double>(row[best]) - static_cast<double>(row[label]);
    score.correct += best == label ? 1 : 0;
    if (gradient == nullptr) {
      continue;
    }
    for (std::size_t c = 0; c < classes; ++c) {
      const double probability =
          std::exp(static_cast<double>(row[c]) - static_cast<double>(row[best])) / total;
      gradient[s * classes + c] =
          static_cast<float>((probability - (c == label ? 1.0 : 0.0)) / static_cast<double>(batch));
    }
  }
  return score;
}

}  // namespace skyline::train::kernels
