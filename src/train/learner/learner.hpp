#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial.hpp"
#include "skyline/trial/trial_group.hpp"

#include "train/batches/device_dataset.hpp"
#include "train/batches/training_setup.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/group/gradient_exchange.hpp"
#include "train/learner/captured_work.hpp"
#include "train/learner/device_evaluation.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace skyline::train {

class EpochTables;
class TrainingStep;

/// A network in training together with its samples, with which a trial (TrainingLoop) computes. On a device
/// steps are queued and recorded, and the host reads their losses now and then. With kernels of our own every
/// step is complete when the call returns. One thread uses it. Each member of a group has one and makes the
/// same calls, except for those marked as local.
class Learner {
 public:
  /// Makes the network. `setup`, `trial` and `group` must outlive the learner. Collective over the group.
  /// @param group  nullptr if the trial has no group
  Learner(const TrainingSetup& setup, const trial::Trial& trial, trial::TrialGroup* group = nullptr,
          const RecordingPolicy& policy = {}, const std::optional<BucketSizes>& buckets = std::nullopt);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  /// Sets the order of an epoch's samples for the next steps. It must outlive those steps.
  void begin_epoch(std::uint64_t epoch, std::span<const std::int64_t> order);
  /// Begins a training step on order[first, first + count); a member of a group computes its part. The step
  /// may still be running after the call.
  void step(std::size_t first, std::size_t count);
  /// Waits for the begun steps. Returns their losses since the last call (mean of the batch, before the
  /// update) in the order of the steps, valid until the next call of the learner. A member of a group returns
  /// its share: the sum over the members is the batch's loss.
  std::span<const double> losses();
  /// Returns how many steps may be begun before losses() is called.
  std::int64_t most_steps_ahead() const { return steps_ahead_; }

  /// Calls `watch` after each part of later steps, when its work is done; the host then waits for that. Only
  /// for a learner that records nothing.
  /// @param watch  empty to end it
  void watch(const StepWatch& watch);

  /// Scores a batch in evaluation mode, with running statistics. Local.
  /// @param indices  at most evaluation_batch() of them
  ScoredBatch score(SampleSet set, std::span<const std::int64_t> indices);
  std::size_t evaluation_batch() const { return static_cast<std::size_t>(evaluation_->batch()); }
  /// Makes a batch of these training samples, unchanged, for run_latency_batch. Local.
  void set_latency_batch(std::span<const std::int64_t> indices);
  /// Computes one forward pass of that batch in evaluation mode and waits for the result. Local.
  void run_latency_batch() { evaluation_->run_latency_batch(); }

  // For full trainings; see the functions of these names in TrainingStep.
  void swap_average();
  void keep_best();
  void restore_best();
  /// Measures the statistics of batch norm again, on batches of unchanged training samples. Returns whether
  /// it was completed; otherwise the statistics stay as they were. Collective.
  /// @param goes_on  called before each batch with its number, while nothing is queued on the device
  bool recalibrate(const std::function<bool(std::int64_t number)>& goes_on);

  /// Returns copies of all parameters and buffers, "<layer>.<tensor>", row-major.
  std::vector<trial::NamedTensor> export_tensors() const;
  /// Sets other initial values than the drawn ones, in order of export_tensors. Call before the first step.
  void import_tensors(const std::vector<trial::NamedTensor>& tensors);
  /// Makes the leader collect the others' state. Call before each save_state in a group.
  void collect_state();
  /// Copies everything on which later steps depend into `step` and `arrays`, whose memory is used again, and
  /// leaves `numbers` alone. The result is the same however the state is sharded. Local; only for the leader
  /// of a group.
  void save_state(trial::TrainingState& state) const;
  /// Restores a state. Returns false and changes nothing if it does not fit.
  bool load_state(const trial::TrainingState& state);

 private:
  void make_parts(const std::optional<BucketSizes>& buckets);
  void make_work();
  std::unique_ptr<CapturedWork> repeated(bool recorded, std::int64_t runs_before, std::function<void()> work);
  void run_step(BatchPart part, std::int64_t batch);
  void seek(std::size_t place);
  void flush();
  void require_losses_read() const;

  const TrainingSetup& setup_;
  const trial::Trial& trial_;
  DeviceDataset& context_;
  trial::TrialGroup* const group_;  // nullptr if the trial has no group
  const std::size_t members_;
  const std::size_t member_;
  const std::int64_t batch_;  // batch of all members together
  const std::int64_t steps_per_epoch_;
  const std::int64_t total_steps_;
  const RecordingPolicy policy_;
  AcceleratorStream& stream_;
  std::unique_ptr<DeviceReducer> reducer_;  // nullptr if there is no group
  std::unique_ptr<TrainingStep> step_;
  std::unique_ptr<EpochTables> epoch_;
  BatchBuffers buffers_;  // large enough for the largest part
  BatchChanges changes_;
  std::unique_ptr<DeviceEvaluation> evaluation_;
  std::unique_ptr<CapturedWork> step_work_;
  std::unique_ptr<CapturedWork> burst_work_;  // several steps at once; nullptr for one at a time
  std::unique_ptr<CapturedWork> last_work_;   // the smaller last batch of an epoch; nullptr if there is none

  std::int64_t steps_done_ = 0;    // includes steps that are only begun
  std::int64_t queued_ = 0;        // begun full batches that are not yet on the device
  std::int64_t first_unread_ = 0;  // index among the steps of the epoch
  std::int64_t next_step_ = 0;
  std::optional<std::size_t> next_place_;  // place of the first sample that the device takes next
  std::uint64_t host_seed_ = 0;            // seed of the next step, if it may not be recorded
  std::vector<double> losses_;
  StepWatch watch_;
  const std::int64_t steps_ahead_;
};

}  // namespace skyline::train
