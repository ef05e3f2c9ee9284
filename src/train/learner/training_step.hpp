#pragma once

#include "skyline/core/random.hpp"
#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"

#include "train/batches/training_setup.hpp"
#include "train/device/device_place.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/group/gradient_exchange.hpp"
#include "train/parameters/optimizer.hpp"
#include "train/parameters/parameter_store.hpp"
#include "train/scoring/loss.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Seed of the random numbers of step `step`, from 0, of a trial.
inline std::uint64_t step_seed(std::uint64_t trial_seed, std::int64_t step) {
  return derive_seed(trial_seed, "step", {static_cast<std::uint64_t>(step)});
}

/// What changes from step to step beside the batch.
struct StepValues {
  at::Tensor rate;         // see Optimizer::step
  at::Tensor seeds = {};   // int64 [drawing_layers], on the device
  at::Tensor news = {};    // float32 []: weight of this step in the moving average
  std::uint64_t seed = 0;  // of the ops that draw on the host: where the step may not be recorded
};

/// A network in training on a device, with everything for a step: forward, loss, backward, a group's
/// exchange, update. Used by one thread, with its stream current.
class TrainingStep {
 public:
  /// `network`, `accelerator` and the group's reducer outlive the step.
  TrainingStep(const space::Network& network, std::uint64_t seed, const TrainingOptions& options,
               Accelerator& accelerator, int device = 0, const GroupMembership& group = {},
               const std::optional<BucketSizes>& buckets = std::nullopt);
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  /// Trains on a part of a batch. Collective over the group. Where may_be_recorded, it reads only constant
  /// values on the host and waits for nothing.
  /// @param images   float32 [samples, channels, height, width], channels_last
  /// @param batch    samples of all members
  /// @return         see PartLoss::share; before the update
  at::Tensor run(const at::Tensor& images, const LossTargets& targets, BatchPart part, std::int64_t batch,
                 const StepValues& values);
  /// Evaluation mode, running statistics: float32 [samples, classes].
  at::Tensor infer(const at::Tensor& images);

  /// Keeps a moving average of all tensors from now on. Before the first step.
  void begin_average() { average_ = parameters_.block().clone(); }
  /// Exchanges the tensors with their average, or back; not during a step. Nothing where there is none.
  void swap_average();
  /// Keeps a copy of the tensors as the best ones, or takes it back.
  void keep_best();
  void restore_best();
  /// Replaces the statistics of the layers that normalize by their mean over some batches. Collective over a
  /// group with synchronized statistics.
  /// @param part    of a batch of `samples`, as for run(); without synchronized statistics all of it
  /// @param images  gives the images of a part by the batch's number; undefined: end, with statistics that
  /// are
  ///                of no use
  /// @return whether it came to its end
  bool recalibrate(std::int64_t batches, BatchPart part, std::int64_t samples,
                   const std::function<at::Tensor(std::int64_t number)>& images);

  /// The parts of steps from now on, those of the batch aside; see LayerGraph::watch.
  void watch(const StepWatch& watch) {
    watch_ = watch;
    graph_.watch(watch);
  }

  /// Notes changes that are made by others than run(), as by recorded steps.
  void parameters_changed() { graph_.parameters_changed(); }
  bool may_be_recorded() const { return graph_.may_be_recorded() && loss_->may_be_recorded(); }
  const Loss& loss() const { return *loss_; }
  const std::vector<std::string>& drawing_layers() const { return place_.drawing_layers; }
  const ParameterStore& parameters() const { return parameters_; }
  /// For initial values other than the drawn ones.
  ParameterStore& parameters() {
    graph_.parameters_changed();
    return parameters_;
  }

  /// Collective: has the leader collect what save_state needs of the others; before each save_state in a
  /// group. @param wait  see GradientExchange::collect_state
  void collect_state(const std::function<void()>& wait);
  /// Copies the arrays "parameters" (with buffers) and "optimizer" into `state`, whose memory it uses again.
  void save_state(trial::TrainingState& state) const;
  /// Returns false, and changes nothing, if the state does not fit.
  bool load_state(const trial::TrainingState& state);

 private:
  /// A buffer of a layer that normalizes.
  struct Statistic {
    at::Tensor value;
    double momentum = 0;      // of its running mean
    std::int64_t pixels = 0;  // of the layer's input
  };
  void find_statistics(const space::Network& network);

  std::uint64_t seed_;
  GroupMembership group_;
  ParameterStore parameters_;
  DevicePlace place_;
  LayerGraph graph_;
  std::unique_ptr<Loss> loss_;
  at::Tensor average_;       // laid out like the parameters' block; undefined: none is kept
  bool is_average_ = false;  // the block has the average, and average_ what is trained
  at::Tensor best_;          // laid out like the block; undefined: none is kept
  std::vector<Statistic> statistics_;
  std::vector<GradientBucket> buckets_;
  Optimizer optimizer_;
  std::optional<GradientExchange> exchange_;  // only in a group
  StepWatch watch_;
  std::vector<float> collected_;  // the whole state of a sharded optimizer, after collect_state
};

}  // namespace skyline::train
