#pragma once

#include "train/scoring/metrics.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace skyline::train {

/// Returns metrics by their names, with the defaults of their keys.
/// @param names  if empty, the default metrics of the targets
/// @throws UserError for an unknown metric, or one that does not take such targets
std::vector<LossOrMetric> named_metrics(const std::vector<std::string>& names, store::TargetKind targets);

/// Scores what another program has computed for the test set of a data set.
/// @param outputs  [samples, outputs]: logits of classes or labels, or numbers in the unit of their source
/// @return         value of each metric by its name; NaN where it is undefined
std::vector<std::pair<std::string, double>> score_outputs(const std::vector<LossOrMetric>& metrics,
                                                          const store::Dataset& dataset,
                                                          std::span<const float> outputs);

}  // namespace skyline::train
