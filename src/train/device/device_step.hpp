#pragma once

#include "skyline/trial/trial.hpp"

#include "train/course/learner.hpp"
#include "train/device/device_context.hpp"
#include "train/device/device_epoch.hpp"
#include "train/device/device_place.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/graph/parameter_store.hpp"
#include "train/group/device_exchange.hpp"
#include "train/optimizer/device_optimizer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// A network in training on a device, with everything for a step: forward, backward, a group's exchange,
/// update. Used by one thread.
class DeviceStep {
 public:
  /// All arguments outlive the object; the stream is current. @param group  nothing: no group
  DeviceStep(const TrainingSetup& setup, const trial::Trial& trial, AcceleratorStream& stream,
             const std::optional<DeviceMembership>& group, const BucketSizes& buckets);

  /// Trains on a part of the epoch's next batch, with the stream current. Can be recorded: reads only
  /// constant values on the host and waits for nothing. Collective over the group.
  /// @param batch  samples of all members
  void run(BatchPart part, std::int64_t batch);

  LayerGraph& graph() { return graph_; }
  ParameterStore& parameters() { return parameters_; }
  /// Of the next step, for ops that draw on the host: where the graph may not be recorded.
  void set_seed(std::uint64_t seed) { seed_ = seed; }
  DeviceEpoch& epoch() { return epoch_; }

  /// See the functions of these names in Learner, except for the number of the step.
  void collect_state();
  void save_state(trial::TrainingState& state) const;
  bool load_state(const trial::TrainingState& state);

 private:
  void join(const BucketSizes& buckets);
  at::Tensor forward(BatchPart part, std::int64_t batch);

  const TrainingSetup& setup_;
  DeviceContext& context_;
  AcceleratorStream& stream_;
  std::optional<DeviceMembership> group_;
  ParameterStore parameters_;
  DevicePlace place_;
  LayerGraph graph_;
  DeviceEpoch epoch_;
  BatchBuffers batch_;  // as large as a part can be
  std::unique_ptr<DeviceOptimizer> optimizer_;
  std::unique_ptr<DeviceExchange> exchange_;  // nullptr: no group
  std::uint64_t seed_ = 0;
  std::vector<float> collected_;  // the whole state of a sharded optimizer, after collect_state
};

}  // namespace skyline::train
