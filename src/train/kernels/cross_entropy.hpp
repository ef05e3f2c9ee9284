#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline::train::kernels {

/// The labels of samples, two per sample if images were mixed.
struct Targets {
  const std::int64_t* labels = nullptr;
  const std::int64_t* others = nullptr;  // nullptr if nothing was mixed
  const float* shares = nullptr;         // share of the label; the other one has the rest
};

/// The class probabilities that a sample should have: its labels', smoothed, then weighted.
struct TargetRule {
  double smoothing = 0;            // share that is spread evenly over all classes
  const float* weights = nullptr;  // [classes]; nullptr if all are 1
};

/// A pass of the loss and its gradient on a device.
struct CrossEntropyPlan {
  const float* logits = nullptr;  // [samples, classes]
  Targets targets = {};
  TargetRule rule = {};
  std::int64_t samples = 0;
  std::int64_t classes = 0;
  std::int64_t batch = 0;     // number of samples of the batch to which these belong
  float* share = nullptr;     // out: [], the losses' sum divided by `batch`
  float* gradient = nullptr;  // out: [samples, classes], of the batch's mean loss
};

/// Returns the sum of the losses of samples: the cross-entropy of softmax(logits) and target of each.
/// @param logits    [samples, classes]
/// @param gradient  out: [samples, classes], the gradient of the batch's mean loss; nullptr if it is not
///                  needed
/// @param batch     number of samples of the batch to which these belong
double cross_entropy(const float* logits, const Targets& targets, const TargetRule& rule, std::size_t samples,
                     std::size_t classes, float* gradient, std::size_t batch);

}  // namespace skyline::train::kernels
