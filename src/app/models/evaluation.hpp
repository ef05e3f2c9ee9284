#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/store/dataset.hpp"

#include "app/models/selected_model.hpp"
#include "space/quantized/int8_network.hpp"
#include "train/evaluator/inference.hpp"

#include <memory>
#include <vector>

namespace skyline::app {

/// Runs a model of a run over the test set of a data set, whose samples are like the run's. The outputs are
/// in the units of the targets. @throws UserError if LibTorch or its device is missing
/// @param int8  its int8 form, which runs in its place, if given
train::InferenceResult outputs_of(const ModelSource& source, const SelectedModel& model,
                                  const std::shared_ptr<const store::Dataset>& samples,
                                  const space::Int8Network* int8 = nullptr);

/// Prints the metrics of a network on samples, and of up to 30 classes how many samples of each are right.
/// Returns the entries `samples`, `metrics` and, if one of them is undefined, `undefined` with the reasons.
/// @param samples  data set whose test set the results are of
std::vector<ConfigNode::Entry> print_evaluation(const store::Dataset& samples,
                                                const train::InferenceResult& result);

}  // namespace skyline::app
