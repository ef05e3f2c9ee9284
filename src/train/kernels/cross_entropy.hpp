#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline::train::kernels {

struct BatchScore {
  double loss_sum = 0;       // of -log softmax(logits)[label]
  std::int64_t correct = 0;  // largest logit at the label; the first one wins a tie
};

/// Scores a batch. @param logits    [samples, classes]
/// @param gradient  [samples, classes], set to the gradient of the batch's mean loss; nullptr: not wanted
BatchScore cross_entropy(const float* logits, const std::int32_t* labels, std::size_t samples,
                         std::size_t classes, float* gradient);

}  // namespace skyline::train::kernels
