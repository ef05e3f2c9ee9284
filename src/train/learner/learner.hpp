#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial.hpp"
#include "skyline/trial/trial_group.hpp"

#include "train/batches/device_context.hpp"
#include "train/batches/training_setup.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/group/gradient_exchange.hpp"
#include "train/learner/device_evaluation.hpp"
#include "train/learner/repeated_work.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace skyline::train {

class DeviceEpoch;
class TrainingStep;

/// A network in training together with the samples that it learns from: what the course of a trial (TrialRun)
/// computes with. On a device steps queue up, are recorded, and the host reads their losses now and then;
/// with kernels of our own every step is complete when the call returns. Used by one thread. In a group every
/// member has one and makes the same calls but for those that are said to be local.
class Learner {
 public:
  /// Collective over the group. `setup`, `trial` and `group` outlive the learner.
  /// @param group  nullptr: the trial is trained by one
  Learner(const TrainingSetup& setup, const trial::Trial& trial, trial::TrialGroup* group = nullptr,
          const RecordingPolicy& policy = {}, const std::optional<BucketSizes>& buckets = std::nullopt);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  /// The order of an epoch's samples, from which the steps to come take theirs; outlives those steps.
  void begin_epoch(std::uint64_t epoch, std::span<const std::int64_t> order);
  /// Begins a training step on order[first, first + count), of which a member of a group computes its part.
  /// It may go on after the call.
  void step(std::size_t first, std::size_t count);
  /// Waits for the steps that were begun. Their losses since the last call (the mean of the batch,
  /// before the update), in the order of the steps; valid until the next call of the learner. A member of a
  /// group tells its share: the sum over the members is the batch's loss.
  std::span<const double> losses();
  /// How many steps may be begun before losses() is asked for.
  std::int64_t most_steps_ahead() const { return steps_ahead_; }

  /// Tells of each part of later steps when its work is done, which the host then waits for. Of a learner
  /// that records nothing. @param watch  empty: nobody
  void watch(const StepWatch& watch);

  /// Evaluation mode, running statistics; local. @param indices  at most evaluation_batch() of them
  ScoredBatch score(SampleSet set, std::span<const std::int64_t> indices);
  std::size_t evaluation_batch() const;
  /// Makes a batch of these training samples, as stored, for infer_held; both local.
  void hold(std::span<const std::int64_t> indices);
  /// One forward pass in evaluation mode, from the call to the result.
  void infer_held();

  // Of full trainings: see the functions of these names in TrainingStep.
  void swap_average();
  void keep_best();
  void restore_best();
  /// Measures the statistics of batch norm anew, on batches of unchanged training samples. Collective.
  /// @param goes_on  asked before each batch, by its number, when nothing is queued on the device
  /// @return whether it came to its end; else the statistics are of no use
  bool recalibrate(const std::function<bool(std::int64_t number)>& goes_on);

  /// Copies of all parameters and buffers, "<layer>.<tensor>", row-major.
  std::vector<trial::NamedTensor> export_tensors() const;
  /// Takes initial values other than the drawn ones, in the order of export_tensors. Before the first step.
  void import_tensors(const std::vector<trial::NamedTensor>& tensors);
  /// Has the leader collect what save_state needs of the others; before each save_state in a group.
  void collect_state();
  /// Copies all that later steps depend on into `step` and `arrays`, whose memory it uses again. Leaves
  /// `numbers` alone. Local, of the leader alone in a group; the same however the state is sharded.
  void save_state(trial::TrainingState& state) const;
  /// Returns false, and changes nothing, if the state does not fit.
  bool load_state(const trial::TrainingState& state);

 private:
  void make_parts(const std::optional<BucketSizes>& buckets);
  void make_work();
  std::unique_ptr<RepeatedWork> repeated(bool recorded, std::int64_t runs_before, std::function<void()> work);
  void run_step(BatchPart part, std::int64_t batch);
  void seek(std::size_t place);
  void flush();
  void require_settled() const;

  const TrainingSetup& setup_;
  const trial::Trial& trial_;
  DeviceContext& context_;
  trial::TrialGroup* const group_;  // nullptr: the trial is trained by one
  const std::size_t members_;
  const std::size_t member_;
  const std::int64_t batch_;  // of all members
  const std::int64_t steps_per_epoch_;
  const std::int64_t total_steps_;
  const RecordingPolicy policy_;
  StreamLease stream_;                      // what follows is destroyed before it
  std::unique_ptr<DeviceReducer> reducer_;  // nullptr: there is no group
  std::unique_ptr<TrainingStep> step_;
  std::unique_ptr<DeviceEpoch> epoch_;
  BatchBuffers buffers_;  // as large as a part can be
  BatchChanges changes_;
  std::unique_ptr<DeviceEvaluation> evaluation_;
  std::unique_ptr<RepeatedWork> step_work_;
  std::unique_ptr<RepeatedWork> burst_work_;  // several steps; nullptr: one at a time
  std::unique_ptr<RepeatedWork> last_work_;   // the smaller last batch of an epoch; nullptr: there is none

  std::int64_t steps_done_ = 0;    // begun ones too
  std::int64_t queued_ = 0;        // begun full batches that the device has not been given
  std::int64_t first_unread_ = 0;  // steps of the epoch
  std::int64_t next_step_ = 0;
  std::optional<std::size_t> next_place_;  // of the first sample that the device takes next
  std::uint64_t host_seed_ = 0;            // of the next step, where it may not be recorded
  std::vector<double> losses_;
  StepWatch watch_;
  const std::int64_t steps_ahead_;
};

}  // namespace skyline::train
