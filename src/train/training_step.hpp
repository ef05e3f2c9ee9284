#pragma once

#include "skyline/core/random.hpp"
#include "skyline/objective/evaluator.hpp"
#include "skyline/space/network.hpp"
#include "skyline/train/training_evaluator.hpp"

#include "train/parameter_store.hpp"

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
  virtual std::vector<objective::NamedTensor> export_tensors() const = 0;
};

/// A step that can be taken up where another one of the same network, options and seed left off.
class ResumableStep : public TrainingStep {
 public:
  /// For initial values other than the drawn ones: may be written before the first step.
  virtual ParameterStore& parameters() = 0;
  /// Copies all that later steps depend on: `step`, and the arrays "parameters" (with buffers) and
  /// "optimizer", whose memory it uses again. Leaves `numbers` alone.
  virtual void save_state(objective::TrainingState& state) const = 0;
  /// Returns false, and changes nothing, if the state does not fit.
  virtual bool load_state(const objective::TrainingState& state) = 0;
};

/// `network` outlives the step. Both start from the same values for a seed.
/// The one for use: fused ops, backward by hand, one pass of the optimizer.
std::unique_ptr<ResumableStep> make_fused_step(const space::Network& network, const OptimizerOptions& options,
                                               std::uint64_t seed);
/// The oracle: each layer's definition in plain ATen, autograd, ATen's optimizers.
std::unique_ptr<TrainingStep> make_reference_step(const space::Network& network,
                                                  const OptimizerOptions& options, std::uint64_t seed);

}  // namespace skyline::train
