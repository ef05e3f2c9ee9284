#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline::train::kernels {

struct BatchScore {
  double loss_sum = 0;       // of -log softmax(logits)[label]
  std::int64_t correct = 0;  // largest logit at the label; the first one wins a tie
};

/// Scores samples. @param logits    [samples, classes]
/// @param gradient  [samples, classes], set to the gradient of the batch's mean loss; nullptr: not wanted
/// @param batch     samples of the batch that these are a part of
BatchScore cross_entropy(const float* logits, const std::int64_t* labels, std::size_t samples,
                         std::size_t classes, float* gradient, std::size_t batch);

}  // namespace skyline::train::kernels
