#pragma once

#include "skyline/core/random.hpp"
#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"

#include "train/course/learner.hpp"
#include "train/course/training_evaluator.hpp"
#include "train/graph/parameter_store.hpp"
#include "train/group/gradient_exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Seed of the random numbers of step `step`, from 0, of a trial.
inline std::uint64_t step_seed(std::uint64_t trial_seed, std::int64_t step) {
  return derive_seed(trial_seed, "step", {static_cast<std::uint64_t>(step)});
}

/// A network in training: parameters, optimizer state, and the step that changes them. Used by one thread.
class TrainingStep {
 public:
  virtual ~TrainingStep() = default;
  /// Forward, backward, update. @param images  float32 [samples, channels, height, width], channels_last
  /// @return  mean cross-entropy of the batch, before the update
  virtual double step(const at::Tensor& images, std::span<const std::int32_t> labels) = 0;
  /// Evaluation mode, running statistics: [samples, classes].
  virtual at::Tensor infer(const at::Tensor& images) = 0;
  /// Copies of all parameters and buffers, "<layer>.<tensor>", row-major.
  virtual std::vector<trial::NamedTensor> export_tensors() const = 0;
};

/// A step that can be taken up where another one of the same network, options and seed left off.
class ResumableStep : public TrainingStep {
 public:
  /// A member's part of a step of its group, which all members take together. @param images  of `part` alone
  /// @return  its share of the batch's mean loss: the sum over the members is that of the batch
  virtual double step_part(const at::Tensor& images, std::span<const std::int32_t> labels, BatchPart part,
                           std::size_t batch) = 0;
  /// Of the steps to come; the optimizer options' until then.
  virtual void set_learning_rate(double rate) = 0;
  /// For initial values other than the drawn ones: may be written before the first step.
  virtual ParameterStore& parameters() = 0;
  /// Collective: has the leader collect what save_state needs of the others. Before each save_state of a
  /// member of a group; nothing else.
  virtual void collect_state() = 0;
  /// Copies all that later steps depend on: `step`, and the arrays "parameters" (with buffers) and
  /// "optimizer", whose memory it uses again. Leaves `numbers` alone. In a group: the leader's, the same
  /// however the state is sharded.
  virtual void save_state(trial::TrainingState& state) const = 0;
  /// Returns false, and changes nothing, if the state does not fit. Local: each member of a group does.
  virtual bool load_state(const trial::TrainingState& state) = 0;
};

/// `network` outlives the step.
/// The one for use: fused ops, backward by hand, one pass of the optimizer.
/// @param membership  of the group that takes the steps together; its group outlives the step
std::unique_ptr<ResumableStep> make_fused_step(const space::Network& network, const OptimizerOptions& options,
                                               std::uint64_t seed, const GroupMembership& membership = {});

}  // namespace skyline::train
