#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace skyline::comm {
class Environment;
}

namespace skyline::train {

/// A trained network, and the samples on which it is used.
struct InferenceTask {
  ConfigNode section;  // the run's complete `training` section
  evaluate::Normalization normalization = evaluate::Normalization::kStandard;
  std::shared_ptr<const space::Architecture> architecture;
  const std::vector<trial::NamedTensor>& tensors;  // tensors of the network, in its order
  /// Its test set is read. Its means and deviations scale the network's inputs.
  std::shared_ptr<const store::Dataset> dataset;
};

struct InferenceResult {
  std::vector<float> outputs;                           // [samples, outputs]
  std::vector<std::pair<std::string, double>> metrics;  // metrics of the run by name
};

/// Runs a network over all samples in batches, in evaluation mode, on the device that the section asks for.
/// On the same machine the results have the bits of a full training's test.
/// @param job  the only process
/// @throws UserError if the device is missing
InferenceResult infer(comm::Environment& job, const InferenceTask& task);

/// Returns the tensors of a network before its training, in its order. They depend on the seed alone.
/// @param seed  that of a trial, for the values with which its training begins, unless it inherits some
std::vector<trial::NamedTensor> initial_tensors(const space::Network& network, std::uint64_t seed);

}  // namespace skyline::train
