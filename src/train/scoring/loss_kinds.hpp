#pragma once

#include "skyline/train/loss.hpp"

#include <string_view>

namespace skyline::train {

struct CrossEntropyOptions {
  enum class ClassWeights { kNone, kBalanced };
  double label_smoothing = 0;
  ClassWeights class_weights = ClassWeights::kNone;
  static const OptionTable<CrossEntropyOptions>& table();
};

/// Returns the loss of this name, or nullptr. A built-in loss has no `make`: learner/loss.hpp makes it.
const LossKind* find_loss(std::string_view name);
/// Returns the loss of a configuration that names none.
std::string_view default_loss(store::TargetKind targets);

}  // namespace skyline::train
