#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline::train::kernels {

/// The labels of samples; where images were mixed, two for each.
struct Targets {
  const std::int64_t* labels;
  const std::int64_t* others = nullptr;  // nullptr: nothing was mixed
  const float* shares = nullptr;         // of the label; the other one has the rest
};

/// The class probabilities that a sample should have: those of its labels, smoothed, then weighted.
struct TargetRule {
  double smoothing = 0;            // share that all classes get alike
  const float* weights = nullptr;  // [classes]; nullptr: all 1
};

/// Sums the losses of samples: the cross-entropy of softmax(logits) and target of each.
/// @param logits    [samples, classes]
/// @param gradient  [samples, classes], set to the gradient of the batch's mean loss; nullptr: not wanted
/// @param batch     samples of the batch that these are a part of
double cross_entropy(const float* logits, const Targets& targets, const TargetRule& rule, std::size_t samples,
                     std::size_t classes, float* gradient, std::size_t batch);

}  // namespace skyline::train::kernels
