#pragma once

#include "skyline/core/random.hpp"
#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"

#include "train/batches/training_setup.hpp"
#include "train/device/device_place.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/group/gradient_exchange.hpp"
#include "train/learner/loss.hpp"
#include "train/parameters/optimizer.hpp"
#include "train/parameters/parameter_store.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Returns the seed for the random numbers of step `step`, from 0, of a trial.
inline std::uint64_t step_seed(std::uint64_t trial_seed, std::int64_t step) {
  return derive_seed(trial_seed, "step", {static_cast<std::uint64_t>(step)});
}

/// The values, besides the batch, that change from step to step.
struct StepValues {
  at::Tensor rate;             // see Optimizer::step
  at::Tensor seeds = {};       // int64 [drawing_layers], on the device
  at::Tensor ema_weight = {};  // float32 []: weight of this step in the moving average
  std::uint64_t seed = 0;      // seed for ops that draw on the host, if the step may not be recorded
};

/// The place of a part among the parts in which a step computes its samples, one after another.
struct Accumulation {
  std::size_t earlier = 0;  // samples of the parts before it
  bool is_last = true;      // the update follows the last part
};

/// A network in training on a device, with everything for a step: forward, loss, backward, a group's
/// exchange, update. One thread uses it, with its stream current.
class TrainingStep {
 public:
  /// `network`, `accelerator` and the group's reducer must outlive the step.
  TrainingStep(const space::Network& network, std::uint64_t seed, const TrainingOptions& options,
               Accelerator& accelerator, int device = 0, const GroupMembership& group = {},
               const std::optional<BucketSizes>& buckets = std::nullopt);
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  /// Trains on a part of a batch. If may_be_recorded(), it reads only constant values on the host and waits
  /// for nothing. Collective over the group.
  /// @param images        float32 [samples, channels, height, width], channels_last
  /// @param batch         number of samples of all members
  /// @param accumulation  only after the last part the parameters are updated, with the sum of the gradients
  /// @return              PartLoss::share, before the update
  at::Tensor run(const at::Tensor& images, const LossTargets& targets, BatchPart part, std::int64_t batch,
                 const StepValues& values, const Accumulation& accumulation = {});
  /// Returns float32 [samples, classes] in evaluation mode, with running statistics.
  at::Tensor infer(const at::Tensor& images);

  /// Keeps a moving average of all tensors from now on. Call before the first step.
  void begin_average() { average_ = parameters_.block().clone(); }
  /// Exchanges the tensors with their average, or back; not during a step. Does nothing without an average.
  void swap_average();
  /// Keeps a copy of the tensors as the best ones, or restores it.
  void keep_best();
  void restore_best();
  /// Replaces the statistics of the layers that normalize by their mean over some batches. Returns whether it
  /// was completed. Collective over a group with synchronized statistics.
  /// @param part    part of a batch of `samples`, as for run(); all of it without synchronized statistics
  /// @param images  returns the images of a part by the batch's number, or an undefined tensor to stop; the
  ///                statistics then stay as they were
  bool recalibrate(std::int64_t batches, BatchPart part, std::int64_t samples,
                   const std::function<at::Tensor(std::int64_t number)>& images);

  /// Watches the parts of later steps, except the batch (LayerGraph::watch).
  void watch(const StepWatch& watch) {
    watch_ = watch;
    graph_.watch(watch);
  }

  /// Must be called when something other than run() has changed the parameters, e.g. a replayed graph.
  void parameters_changed() { graph_.parameters_changed(); }
  bool may_be_recorded() const {
    return graph_.may_be_recorded() && loss_->may_be_recorded() &&
           (group_.reducer == nullptr || group_.reducer->may_be_recorded());
  }
  const Loss& loss() const { return *loss_; }
  const std::vector<std::string>& drawing_layers() const { return place_.drawing_layers; }
  const ParameterStore& parameters() const { return parameters_; }
  /// Returns the parameters, so that other initial values can be set.
  ParameterStore& parameters() {
    graph_.parameters_changed();
    return parameters_;
  }

  /// Makes the leader collect the others' state. Call before each save_state in a group. Collective.
  /// @param wait  see GradientExchange::collect_state
  void collect_state(const std::function<void()>& wait);
  /// Copies the arrays of parameters (with buffers) and "optimizer" into `state`, whose memory is used again.
  void save_state(trial::TrainingState& state) const;
  /// Restores a state. Returns false and changes nothing if it does not fit.
  bool load_state(const trial::TrainingState& state);

 private:
  /// A buffer of a layer that normalizes.
  struct Statistic {
    at::Tensor value;
    double momentum = 0;      // momentum of its running mean
    std::int64_t pixels = 0;  // pixels of the layer's input
  };
  void find_statistics(const space::Network& network);
  template <typename Reorder>
  void reorder(trial::TrainingState& state, const Reorder& reorder) const;
  void backward(at::Tensor gradient, const Accumulation& accumulation);
  void update(const StepValues& values);
  void set_gradients_aside();
  void add_earlier(std::size_t layer);

  std::uint64_t seed_;
  GroupMembership group_;
  ParameterStore parameters_;
  DevicePlace place_;
  LayerGraph graph_;
  std::unique_ptr<Loss> loss_;
  at::Tensor average_;       // laid out like the parameters' block; undefined if there is no average
  bool is_average_ = false;  // true while the block has the average, and average_ the trained tensors
  at::Tensor best_;          // laid out like the block; undefined if none is kept
  std::vector<Statistic> statistics_;
  std::vector<GradientBucket> buckets_;
  Optimizer optimizer_;
  std::optional<GradientExchange> exchange_;  // only in a group
  StepWatch watch_;
  std::vector<float> collected_;  // the whole state of a sharded optimizer, set by collect_state
};

}  // namespace skyline::train
