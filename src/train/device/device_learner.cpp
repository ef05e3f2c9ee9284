#include "train/device/device_learner.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "train/course/learner.hpp"
#include "train/course/training_step.hpp"
#include "train/course/trial_run.hpp"
#include "train/device/device_context.hpp"
#include "train/device/device_evaluation.hpp"
#include "train/device/device_step.hpp"
#include "train/device/repeated_work.hpp"
#include "train/inherit/recent_parents.hpp"
#include "train/inherit/transplant.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace skyline::train {
namespace {

using Clock = std::chrono::steady_clock;

/// What may be queued up: long enough to hide the host's look at the losses, short enough for a stop.
constexpr double kQueued_s = 0.05;
constexpr std::int64_t kFirstStepsAhead = 16;
constexpr std::int64_t kMostStepsAhead = 512;

class DeviceLearner final : public Learner {
 public:
  DeviceLearner(const TrainingSetup& setup, const trial::Trial& trial, trial::TrialGroup* group,
                const RecordingPolicy& policy, const BucketSizes& buckets);
  ~DeviceLearner() override;
  DeviceLearner(const DeviceLearner&) = delete;
  DeviceLearner& operator=(const DeviceLearner&) = delete;

  void begin_epoch(std::uint64_t epoch, std::span<const std::int64_t> order) override;
  void step(std::size_t first, std::size_t count) override;
  std::span<const double> losses() override;
  std::int64_t most_steps_ahead() const override { return steps_ahead_; }

  kernels::BatchScore score(SampleSet set, std::span<const std::int64_t> indices) override;
  std::size_t evaluation_batch() const override { return static_cast<std::size_t>(DeviceEvaluation::kBatch); }
  void hold(std::span<const std::int64_t> indices) override;
  void infer_held() override;

  std::vector<trial::NamedTensor> export_tensors() const override;
  void import_tensors(const std::vector<trial::NamedTensor>& tensors) override;
  void keep_for_children() override;
  bool start_from_kept(const trial::Inherit& inheritance) override;
  void collect_state() override;
  void save_state(trial::TrainingState& state) const override;
  bool load_state(const trial::TrainingState& state) override;

 private:
  void join(trial::TrialGroup& group);
  void make_step(const BucketSizes& buckets);
  void make_work();
  std::unique_ptr<RepeatedWork> repeated(bool recorded, std::int64_t runs_before, std::function<void()> work);
  void seek(std::size_t place);
  void flush();
  void adapt_steps_ahead(std::int64_t steps);
  void require_settled() const { require(queued_ == 0, "steps were begun whose losses were not asked for"); }

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
  RecentParents::Entry parent_;             // while the device copies from it
  std::unique_ptr<DeviceStep> step_;
  std::unique_ptr<DeviceEvaluation> evaluation_;
  std::unique_ptr<RepeatedWork> step_work_;
  std::unique_ptr<RepeatedWork> burst_work_;  // several steps; nullptr: one at a time

  std::int64_t steps_done_ = 0;    // begun ones too
  std::int64_t queued_ = 0;        // begun full batches that the device has not been given
  std::int64_t first_unread_ = 0;  // steps of the epoch
  std::int64_t next_step_ = 0;
  std::optional<std::size_t> next_place_;  // of the first sample that the device takes next
  std::vector<double> losses_;
  std::int64_t steps_ahead_ = kFirstStepsAhead;
  Clock::time_point last_look_ = Clock::now();
};

DeviceLearner::DeviceLearner(const TrainingSetup& setup, const trial::Trial& trial, trial::TrialGroup* group,
                             const RecordingPolicy& policy, const BucketSizes& buckets)
    : setup_(setup),
      trial_(trial),
      context_(*setup.on_device),
      group_(group),
      members_(group == nullptr ? 1 : group->members()),
      member_(group == nullptr ? 0 : group->member()),
      batch_(std::min(setup.options.batch, static_cast<std::int64_t>(setup.split.train.size()))),
      steps_per_epoch_(steps_per_epoch(setup.split.train.size(), setup.options.batch)),
      total_steps_(steps_for(trial.horizon().epochs, setup.split.train.size(), setup.options.batch)),
      policy_(policy),
      stream_(context_) {
  if (group != nullptr) {
    join(*group);
  }
  stream_->run([&] { make_step(buckets); });
  make_work();
}

/// Queued work uses the tensors that go.
DeviceLearner::~DeviceLearner() {
  try {
    stream_->wait();
  } catch (const trial::GroupAborted&) {
    // The trial has ended for that reason.
  } catch (const std::exception& error) {
    log::warning(std::string("a device failed while a trial ended: ") + error.what());
  }
}

void DeviceLearner::join(trial::TrialGroup& group) {
  try {
    reducer_ = context_.accelerator().make_reducer(group, context_.index());
  } catch (const UserError& reason) {
    log::info(std::string("gradients are summed through memory of the hosts: ") + reason.what());
    reducer_ = make_staged_reducer(group, context_.device().is_cpu());
  }
}

void DeviceLearner::make_step(const BucketSizes& buckets) {
  std::optional<DeviceMembership> membership;
  if (reducer_ != nullptr) {
    membership = {reducer_.get(), members_, member_, setup_.options.group};
  }
  step_ = std::make_unique<DeviceStep>(setup_, trial_, *stream_, membership, buckets);
  evaluation_ = std::make_unique<DeviceEvaluation>(setup_, step_->graph(), *stream_, policy_);
  context_.samples(SampleSet::kTrain);
  context_.scaling();
}

std::unique_ptr<RepeatedWork> DeviceLearner::repeated(bool recorded, std::int64_t runs_before,
                                                      std::function<void()> work) {
  const bool may = recorded && step_->graph().may_be_recorded();
  return std::make_unique<RepeatedWork>(context_, *stream_, std::move(work),
                                        may ? std::optional(runs_before) : std::nullopt, group_);
}

void DeviceLearner::make_work() {
  const auto flops = 3.0 * static_cast<double>(trial_.architecture().network.cost.flops * batch_);
  const bool recorded =
      total_steps_ >= policy_.least_steps && (reducer_ == nullptr || reducer_->may_be_recorded());
  const BatchPart part = part_of_batch(static_cast<std::size_t>(batch_), members_, member_);
  const bool bursts = total_steps_ >= policy_.least_burst_steps && flops <= policy_.most_burst_flops;
  step_work_ = repeated(recorded, policy_.runs_before, [this, part] { step_->run(part, batch_); });
  if (recorded && bursts && step_->graph().may_be_recorded()) {
    const auto burst = [this, part] {
      for (std::int64_t i = 0; i < policy_.burst; ++i) {
        step_->run(part, batch_);
      }
    };
    burst_work_ = repeated(true, 0, burst);
  }
}

void DeviceLearner::begin_epoch(std::uint64_t epoch, std::span<const std::int64_t> order) {
  require_settled();
  stream_->run([&] { step_->epoch().begin(epoch, order); });
  next_place_.reset();
}

void DeviceLearner::step(std::size_t first, std::size_t count) {
  const BatchPart part = part_of_batch(count, members_, member_);
  if (next_place_ != first + part.first) {
    seek(first + part.first);
  }
  if (next_step_ == first_unread_) {
    last_look_ = Clock::now();
  }
  *next_place_ += static_cast<std::size_t>(setup_.options.batch);
  ++steps_done_;
  ++next_step_;
  if (!step_->graph().may_be_recorded()) {
    step_->set_seed(step_seed(trial_.seed, steps_done_ - 1));
  }
  const auto batch = static_cast<std::int64_t>(count);
  if (batch == batch_) {
    ++queued_;
    if (queued_ == policy_.burst || !step_->graph().may_be_recorded()) {
      flush();
    }
  } else {
    flush();
    stream_->run([&] { step_->run(part, batch); });
  }
}

/// The next step's part of the batch begins at this place of the epoch's order.
void DeviceLearner::seek(std::size_t place) {
  flush();
  const std::int64_t step = steps_done_ % steps_per_epoch_;
  if (step != next_step_) {
    first_unread_ = next_step_ = step;
  }
  stream_->run([&] { step_->epoch().seek(step, static_cast<std::int64_t>(place)); });
  next_place_ = place;
}

/// Gives the device what has been begun.
void DeviceLearner::flush() {
  if (queued_ == policy_.burst && burst_work_ != nullptr && step_work_->is_recorded()) {
    burst_work_->run();
    queued_ = 0;
    if (!burst_work_->is_recorded()) {
      burst_work_.reset();  // refused: replaying single steps is the better way
    }
  }
  for (; queued_ > 0; --queued_) {
    step_work_->run();
  }
}

std::span<const double> DeviceLearner::losses() {
  flush();
  const std::int64_t count = next_step_ - first_unread_;
  losses_.clear();
  if (count > 0) {
    stream_->wait();
    stream_->run([&] {
      const std::vector<float> values = step_->epoch().losses(first_unread_, count);
      losses_.assign(values.begin(), values.end());
    });
    adapt_steps_ahead(count);
  }
  first_unread_ = next_step_;
  return losses_;
}

/// The choice changes when the host looks, not what it sees.
void DeviceLearner::adapt_steps_ahead(std::int64_t steps) {
  if (reducer_ != nullptr) {
    return;  // all members look at the same time
  }
  const std::chrono::duration<double> elapsed = Clock::now() - last_look_;
  const double step_s = elapsed.count() / static_cast<double>(steps);
  const double affordable =
      std::min(kQueued_s / std::max(step_s, 1e-9), static_cast<double>(kMostStepsAhead));
  const auto bursts = static_cast<std::int64_t>(affordable) / policy_.burst;
  steps_ahead_ = std::max<std::int64_t>(bursts * policy_.burst, 1);
}

kernels::BatchScore DeviceLearner::score(SampleSet set, std::span<const std::int64_t> indices) {
  require_settled();
  return evaluation_->score(set, indices);
}

void DeviceLearner::hold(std::span<const std::int64_t> indices) {
  require_settled();
  evaluation_->hold(indices);
}

void DeviceLearner::infer_held() {
  evaluation_->infer_held();
}

std::vector<trial::NamedTensor> DeviceLearner::export_tensors() const {
  require_settled();
  std::vector<trial::NamedTensor> tensors;
  stream_->run([&] { tensors = step_->parameters().export_tensors(); });
  return tensors;
}

void DeviceLearner::import_tensors(const std::vector<trial::NamedTensor>& tensors) {
  stream_->run([&] { step_->parameters().import_tensors(tensors); });
}

void DeviceLearner::keep_for_children() {
  require_settled();
  stream_->wait();
  context_.keep_parent(trial_, step_->parameters());
}

bool DeviceLearner::start_from_kept(const trial::Inherit& inheritance) {
  parent_ = context_.parents().find(inheritance);
  if (parent_ == nullptr) {
    return false;
  }
  const auto plan = plan_inheritance(parent_->architecture->network, trial_.architecture().network);
  stream_->run([&] { inherit_tensors(plan, parent_->tensors, step_->parameters().tensors()); });
  stream_->wait();
  parent_.reset();
  return true;
}

void DeviceLearner::collect_state() {
  require_settled();
  step_->collect_state();
}

void DeviceLearner::save_state(trial::TrainingState& state) const {
  require_settled();
  state.step = steps_done_;
  step_->save_state(state);
}

bool DeviceLearner::load_state(const trial::TrainingState& state) {
  if (!step_->load_state(state)) {
    return false;
  }
  steps_done_ = state.step;
  next_place_.reset();
  return true;
}

}  // namespace

std::unique_ptr<Learner> make_device_learner(const TrainingSetup& setup, const trial::Trial& trial,
                                             trial::TrialGroup* group, const RecordingPolicy& policy,
                                             const BucketSizes& buckets) {
  return std::make_unique<DeviceLearner>(setup, trial, group, policy, buckets);
}

}  // namespace skyline::train
