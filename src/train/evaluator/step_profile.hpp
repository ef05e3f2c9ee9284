#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/store/dataset.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace skyline::comm {
class Environment;
}

namespace skyline::train {

/// A network to be measured, and how the run trains it.
struct ProfileTask {
  ConfigNode section;  // the run's complete `training` section
  evaluate::Normalization normalization = evaluate::Normalization::kStandard;
  std::shared_ptr<const space::Architecture> architecture;
  std::shared_ptr<const store::Dataset> dataset;
  store::SplitIndices split;
};

/// The cost of a layer's op, with the layers that it has absorbed.
struct LayerProfile {
  std::size_t layer = 0;
  std::vector<std::size_t> absorbed;
  double forward_s = 0;
  double backward_s = 0;
  std::int64_t grown_bytes = 0;  // growth of all tensors by its forward pass
  std::int64_t most_bytes = 0;   // peak during its passes, above what exists before the step
};

/// The cost of a training step; seconds are first quartiles over the steps.
struct StepProfile {
  std::string device;
  std::int64_t batch = 0;
  int threads = 0;
  std::size_t steps = 0;  // steps measured layer by layer; the same number was measured as a whole
  std::vector<LayerProfile> layers;
  double batch_s = 0;
  double loss_s = 0;
  double update_s = 0;
  double step_s = 0;              // time measured as a whole
  std::int64_t tensor_bytes = 0;  // before a step: parameters, optimizer, samples on a GPU

  /// Returns the sum of the parts.
  double parts_s() const {
    double sum = batch_s + loss_s + update_s;
    for (const LayerProfile& layer : layers) sum += layer.forward_s + layer.backward_s;
    return sum;
  }
  std::int64_t most_bytes() const {
    std::int64_t most = 0;
    for (const LayerProfile& layer : layers) most = std::max(most, layer.most_bytes);
    return most;
  }
};

/// Trains a new network for some seconds on the run's batches and measures each layer's op: on the device
/// that the section asks for, as the only trial there, without recorded steps. Every second step is measured
/// as a whole, because in the others the host waits for the device after each part.
/// @param job  the only process
/// @throws UserError if the device is missing
StepProfile profile_step(comm::Environment& job, const ProfileTask& task);

}  // namespace skyline::train
