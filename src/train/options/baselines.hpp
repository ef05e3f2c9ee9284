#pragma once

#include "skyline/store/dataset.hpp"
#include "skyline/trial/metric.hpp"

#include "train/options/training_options.hpp"

#include <vector>

namespace skyline::train {

/// Returns what a training's metrics of the validation and test sets are judged by: the number of samples
/// that decide a share, and the value of a model that always says the same: each class as often as it is in
/// the training set, so the commonest one first, or the mean of each number.
std::vector<trial::Baseline> baselines_of(const TrainingOptions& options, const store::Dataset& dataset,
                                          const store::SplitIndices& split);

}  // namespace skyline::train
