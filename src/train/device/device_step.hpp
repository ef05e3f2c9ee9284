#pragma once

#include "skyline/trial/trial.hpp"

#include "train/course/learner.hpp"
#include "train/course/training_setup.hpp"
#include "train/device/device_batch.hpp"
#include "train/device/device_epoch.hpp"
#include "train/device/device_network.hpp"
#include "train/group/device_exchange.hpp"
#include "train/group/device_membership.hpp"
#include "train/optimizer/device_optimizer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// A network in training on a device, with all that a step needs: forward, backward, what a group exchanges,
/// update. Used by one thread.
class DeviceStep {
 public:
  /// All outlive it; the stream is current. @param group  nothing: the trial is trained by one
  DeviceStep(const TrainingSetup& setup, const trial::Trial& trial, AcceleratorStream& stream,
             const std::optional<DeviceMembership>& group, const BucketSizes& buckets);

  /// Trains on a part of the epoch's next batch, with the stream current. Can be recorded: reads nothing on
  /// the host but what stays, and waits for nothing. Collective over the group.
  /// @param batch  samples of all members
  void run(BatchPart part, std::int64_t batch);

  DeviceNetwork& network() { return network_; }
  DeviceEpoch& epoch() { return epoch_; }

  /// As the learner's functions of these names, but for the number of the step.
  void collect_state();
  void save_state(trial::TrainingState& state) const;
  bool load_state(const trial::TrainingState& state);

 private:
  void join(const BucketSizes& buckets);
  at::Tensor find_loss(BatchPart part, std::int64_t batch);

  const TrainingSetup& setup_;
  DeviceContext& context_;
  AcceleratorStream& stream_;
  std::optional<DeviceMembership> group_;
  DeviceNetwork network_;
  DeviceEpoch epoch_;
  BatchBuffers batch_;  // as large as a part can be
  std::unique_ptr<DeviceOptimizer> optimizer_;
  std::unique_ptr<DeviceExchange> exchange_;  // nullptr: there is no group
  std::vector<float> collected_;              // a sharded optimizer's whole state, where it was collected
};

}  // namespace skyline::train
