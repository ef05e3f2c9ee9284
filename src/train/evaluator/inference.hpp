#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace skyline::comm {
class Environment;
}

namespace skyline::train {

/// A trained network, and the samples that it is used on.
struct InferenceTask {
  ConfigNode section;  // `training` of the run, complete
  evaluate::Normalization normalization = evaluate::Normalization::kStandard;
  std::shared_ptr<const space::Architecture> architecture;
  const std::vector<trial::NamedTensor>& tensors;  // of the network, in its order
  /// Its test set is read; means and deviations are those by which the network's inputs are scaled.
  std::shared_ptr<const store::Dataset> dataset;
};

struct InferenceResult {
  std::vector<float> outputs;                           // [samples, outputs]
  std::vector<std::pair<std::string, double>> metrics;  // of the run, by name
};

/// Runs a network over all samples in batches, in evaluation mode, on the device that the section asks for:
/// what a full training measures on its test set, to the bit on the same machine.
/// @param job  the only process. @throws UserError if the device is not there
InferenceResult infer(comm::Environment& job, const InferenceTask& task);

/// Of one sample: classes: the probability of each; labels: that of each, on its own; numbers: as they are.
std::vector<double> to_answers(std::span<const float> outputs, store::TargetKind targets);

}  // namespace skyline::train
