#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"

#include "space/quantized/int8_network.hpp"

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
  const space::Int8Network* int8 = nullptr;  // its int8 form, which runs in its place on the CPU, if given
};

/// A trained network that becomes an int8 one.
struct QuantizationTask {
  ConfigNode section;  // the run's complete `training` section
  evaluate::Normalization normalization = evaluate::Normalization::kStandard;
  std::shared_ptr<const space::Architecture> architecture;
  const std::vector<trial::NamedTensor>& tensors;  // tensors of the network, in its order
  std::shared_ptr<const store::Dataset> dataset;   // data set of the run
  std::vector<std::int64_t> samples;               // indices in its training set, at least one
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

/// Turns a trained network into an int8 one, as a training that measures it does. On the CPU; on the same
/// machine the result has the same bits.
/// @throws UserError for a layer kind without int8 steps, and for values that are not finite on a sample
space::Int8Network quantize(comm::Environment& job, const QuantizationTask& task);

/// Returns the tensors of a network before its training, in its order. They depend on the seed alone.
/// @param seed  that of a trial, for the values with which its training begins, unless it inherits some
std::vector<trial::NamedTensor> initial_tensors(const space::Network& network, std::uint64_t seed);

}  // namespace skyline::train
