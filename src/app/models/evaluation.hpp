#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/store/dataset.hpp"

#include "train/evaluator/inference.hpp"

#include <vector>

namespace skyline::app {

/// Prints the metrics of a network on samples, and of up to 30 classes how many samples of each are right.
/// Returns the entries `samples`, `metrics` and, if one of them is undefined, `undefined` with the reasons.
/// @param samples  data set whose test set the results are of
std::vector<ConfigNode::Entry> print_evaluation(const store::Dataset& samples,
                                                const train::InferenceResult& result);

}  // namespace skyline::app
