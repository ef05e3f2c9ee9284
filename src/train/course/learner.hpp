#pragma once

#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial.hpp"
#include "skyline/trial/trial_group.hpp"

#include "train/course/batch_source.hpp"
#include "train/course/training_evaluator.hpp"
#include "train/kernels/cross_entropy.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace skyline::train {

struct TrainingSetup;

/// The samples of a data set that are held together: labelled images for training and validation, or for the
/// final test.
enum class SampleSet { kTrain, kTest };

/// The samples of a batch that one member of a group trains on.
struct BatchPart {
  std::size_t first = 0;  // place in the batch
  std::size_t count = 0;
};

/// The part of a batch of `samples` that a member of a group trains on: parts differ by a sample at most.
inline BatchPart part_of_batch(std::size_t samples, std::size_t members, std::size_t member) {
  const std::size_t first = samples * member / members;
  return {first, samples * (member + 1) / members - first};
}

/// A network in training together with the samples that it learns from: the seam between the course of a
/// trial (TrialRun) and what computes it. Used by one thread. In a group every member has one and makes the
/// same calls but for those that are said to be local.
class Learner {
 public:
  virtual ~Learner() = default;

  /// The order of an epoch's samples, from which the steps to come take theirs; outlives those steps.
  virtual void begin_epoch(std::uint64_t epoch, std::span<const std::int64_t> order) = 0;
  /// Begins a training step on order[first, first + count), of which a member of a group computes its part.
  /// It may go on after the call.
  virtual void step(std::size_t first, std::size_t count) = 0;
  /// Waits for the steps that were begun. Their losses since the last call (mean cross-entropy of the batch,
  /// before the update), in the order of the steps; valid until the next call of the learner. A member of a
  /// group tells its share: the sum over the members is the batch's loss.
  virtual std::span<const double> losses() = 0;
  /// How many steps may be begun before losses() is asked for.
  virtual std::int64_t most_steps_ahead() const = 0;

  /// Evaluation mode, running statistics; local. @param indices  at most evaluation_batch() of them
  virtual kernels::BatchScore score(SampleSet set, std::span<const std::int64_t> indices) = 0;
  virtual std::size_t evaluation_batch() const = 0;
  /// Makes a batch of these training samples, as stored, for infer_held; both local.
  virtual void hold(std::span<const std::int64_t> indices) = 0;
  /// One forward pass in evaluation mode, from the call to the result.
  virtual void infer_held() = 0;

  /// Copies of all parameters and buffers, "<layer>.<tensor>", row-major.
  virtual std::vector<trial::NamedTensor> export_tensors() const = 0;
  /// Takes initial values other than the drawn ones, in the order of export_tensors. Before the first step.
  virtual void import_tensors(const std::vector<trial::NamedTensor>& tensors) = 0;
  /// Keeps the tensors where the learner has them, for the learners of children. After the last step; local.
  virtual void keep_for_children() {}
  /// Takes initial values from what the parent's learner kept, the same as from its exported tensors. Returns
  /// false, and changes nothing, if that is not there. Before the first step; local.
  virtual bool start_from_kept(const trial::Inherit& /*inheritance*/) { return false; }
  /// Has the leader collect what save_state needs of the others; before each save_state in a group.
  virtual void collect_state() {}
  /// Copies all that later steps depend on into `step` and `arrays`, whose memory it uses again. Leaves
  /// `numbers` alone. Local, of the leader alone in a group; the same however the state is sharded.
  virtual void save_state(trial::TrainingState& state) const = 0;
  /// Returns false, and changes nothing, if the state does not fit.
  virtual bool load_state(const trial::TrainingState& state) = 0;
};

/// The validation samples that the trial is scored on: in the search perhaps a part.
inline const std::vector<std::int64_t>& validation_of(const store::SplitIndices& split,
                                                      const trial::Trial& trial) {
  return trial.is_final() || split.scored.empty() ? split.validation : split.scored;
}

/// On the CPU: kernels of our own, every step complete when the call returns. `setup`, `trial` and `group`
/// outlive it. @param group  nullptr: the trial is trained by one
std::unique_ptr<Learner> make_host_learner(const TrainingSetup& setup, const trial::Trial& trial,
                                           trial::TrialGroup* group = nullptr);

class DeviceContext;

/// State that all trials of an evaluator share; constant.
struct TrainingSetup {
  TrainingOptions options;
  std::shared_ptr<const store::Dataset> dataset;
  store::SplitIndices split;
  PixelScaling scaling;
  bool measure_latency = false;
  std::vector<std::int64_t> test_indices;  // all of the test set
  DeviceUse device;
  std::shared_ptr<DeviceContext> on_device;  // nullptr: networks train on the CPU
};

}  // namespace skyline::train
