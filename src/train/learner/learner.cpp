#include "train/learner/learner.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "train/batches/batch_source.hpp"
#include "train/device/staged_reducer.hpp"
#include "train/learner/epoch_tables.hpp"
#include "train/learner/taught_loss.hpp"
#include "train/learner/training_step.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <ATen/ops/tensor.h>

namespace skyline::train {
namespace {

/// Returns how many steps may be queued: whole bursts, together some 50 ms, which is long enough to hide the
/// host's look at the losses and short enough for a stop. The time of a step is estimated by a rule of thumb,
/// because its measured time would depend on the machine's other work.
/// @param parts  parts of a member's samples
std::int64_t steps_to_queue(const space::Network& network, double samples, std::int64_t parts,
                            std::int64_t burst) {
  constexpr double kQueued_s = 0.05;
  constexpr double kFlopsPerSecond = 2e12;
  constexpr double kSecondsPerLayer = 1e-5;
  constexpr double kMostSteps = 512;
  const double step_s =
      3 * samples * static_cast<double>(network.cost.flops) / kFlopsPerSecond +
      kSecondsPerLayer * static_cast<double>(network.layers.size()) * static_cast<double>(parts);
  const auto steps = static_cast<std::int64_t>(std::min(kQueued_s / step_s, kMostSteps));
  return std::max<std::int64_t>(steps / burst * burst, 1);
}

/// Returns the samples of the largest of some parts, see part_of_batch.
std::int64_t largest_part(std::int64_t samples, std::int64_t parts) {
  return (samples + parts - 1) / parts;
}

}  // namespace

Learner::Learner(const TrainingSetup& setup, const trial::Trial& trial, trial::TrialGroup* group,
                 const RecordingPolicy& policy, const std::optional<BucketSizes>& buckets)
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
      stream_(context_.stream()),
      steps_ahead_(context_.accelerator().kernels() == Kernels::kOwn
                       ? 1
                       : steps_to_queue(trial.architecture().network(),
                                        static_cast<double>(batch_) / static_cast<double>(members_),
                                        setup.options.accumulate, policy.burst)) {
  if (group != nullptr) {
    reducer_ = context_.accelerator().make_reducer(*group, context_.index());
    if (reducer_ == nullptr) reducer_ = make_staged_reducer(*group);
  }
  stream_.run([&] { make_parts(buckets); });
  make_work();
}

/// Waits, because queued work uses the tensors that are destroyed here.
Learner::~Learner() {
  try {
    stream_.wait();
  } catch (const trial::GroupAborted&) {
    // the trial has already failed for this reason
  } catch (const std::exception& error) {
    log::warning(std::string("a device failed while a trial ended: ") + error.what());
  }
}

void Learner::make_parts(const std::optional<BucketSizes>& buckets) {
  GroupMembership membership;
  if (reducer_ != nullptr) membership = {reducer_.get(), members_, member_, setup_.options.group};
  step_ = std::make_unique<TrainingStep>(trial_.architecture().network(), trial_.seed, setup_.options,
                                         context_.accelerator(), context_.index(), membership, buckets);
  const double average = trial_.is_final() ? setup_.options.full.average : 0;
  if (average > 0) step_->begin_average();
  epoch_ = std::make_unique<EpochTables>(
      context_, setup_.options,
      EpochTables::Plan{steps_per_epoch_, static_cast<std::int64_t>(setup_.split.train.size()), total_steps_,
                        trial_.seed, step_->drawing_layers(), average});
  const std::int64_t share = largest_part(batch_, static_cast<std::int64_t>(members_));
  const AugmentOptions& augment = setup_.options.augment;
  buffers_ = BatchBuffers::make_for_training(largest_part(share, setup_.options.accumulate), setup_);
  if (augment.any()) {
    const auto table = [this](const std::vector<float>& values) {
      return at::tensor(values).to(context_.device());
    };
    changes_ = {epoch_->augment_seed(), augment_plan(augment, *setup_.dataset)};
    if (augment.mixup > 0) changes_.mixup = table(mixup_table(augment.mixup));
    if (augment.cutmix > 0) changes_.cutmix = table(cutmix_table(augment.cutmix));
  }
  if (setup_.teacher != nullptr) {
    changes_.softening = softening_of(setup_.options.problem.targets);
    changes_.temperature = setup_.options.teacher->temperature;
  }
  evaluation_ = std::make_unique<DeviceEvaluation>(setup_, *step_, stream_, policy_,
                                                   validation_of(setup_.split, trial_).size());
  context_.samples(SampleSet::kTrain);
  context_.scaling();
}

std::unique_ptr<CapturedWork> Learner::repeated(bool recorded, std::int64_t runs_before,
                                                std::function<void()> work) {
  return std::make_unique<CapturedWork>(context_, stream_, std::move(work),
                                        recorded ? std::optional(runs_before) : std::nullopt, group_);
}

void Learner::make_work() {
  const auto flops = 3.0 * static_cast<double>(trial_.architecture().cost.flops * batch_);
  const bool recorded = total_steps_ >= policy_.least_steps && step_->may_be_recorded();
  const BatchPart part = part_of_batch(static_cast<std::size_t>(batch_), members_, member_);
  const bool bursts = total_steps_ >= policy_.least_burst_steps && flops <= policy_.most_burst_flops;
  step_work_ = repeated(recorded, policy_.runs_before, [this, part] { run_step(part, batch_); });
  const std::int64_t rest = static_cast<std::int64_t>(setup_.split.train.size()) % batch_;
  if (rest > 0) {
    const BatchPart last = part_of_batch(static_cast<std::size_t>(rest), members_, member_);
    const bool often = total_steps_ >= policy_.least_epochs * steps_per_epoch_;
    last_work_ =
        repeated(recorded && often, policy_.runs_before, [this, last, rest] { run_step(last, rest); });
  }
  if (recorded && bursts) {
    burst_work_ = repeated(true, 0, [this, part] {
      for (std::int64_t i = 0; i < policy_.burst; ++i) run_step(part, batch_);
    });
  }
}

void Learner::begin_epoch(std::uint64_t epoch, std::span<const std::int64_t> order) {
  require_losses_read();
  stream_.run([&] { epoch_->begin(epoch, order); });
  next_place_.reset();
}

void Learner::step(std::size_t first, std::size_t count) {
  const BatchPart part = part_of_batch(count, members_, member_);
  if (next_place_ != first + part.first) seek(first + part.first);
  *next_place_ += static_cast<std::size_t>(setup_.options.batch);
  ++steps_done_;
  ++next_step_;
  const bool alone = !step_->may_be_recorded();
  if (alone) host_seed_ = step_seed(trial_.seed, steps_done_ - 1);
  if (static_cast<std::int64_t>(count) == batch_) {
    ++queued_;
    if (queued_ == policy_.burst || alone) flush();
  } else {
    flush();
    last_work_->run();
  }
}

/// Trains on a member's part of the epoch's next batch, in pieces if gradients accumulate; may be part of
/// recorded work.
void Learner::run_step(BatchPart part, std::int64_t batch) {
  const WithoutAutograd no_autograd;
  const StepValues values{epoch_->rate(), epoch_->seeds(), epoch_->ema_weight(), host_seed_};
  const auto pieces = static_cast<std::size_t>(setup_.options.accumulate);
  Accumulation accumulation;
  at::Tensor loss;
  for (std::size_t i = 0; i < pieces; ++i) {
    BatchPart piece = part_of_batch(part.count, pieces, i);
    accumulation.is_last = i + 1 == pieces;
    // A small last batch may leave pieces empty, but the last piece only if it leaves all empty.
    if (piece.count == 0 && !accumulation.is_last) continue;
    const BatchBuffers buffers = buffers_.first(static_cast<std::int64_t>(piece.count));
    if (piece.count > 0) {
      gather_on_device(context_, SampleSet::kTrain, epoch_->order(), epoch_->position(), buffers, changes_,
                       static_cast<std::int64_t>(piece.first));
    }
    if (watch_) watch_(StepWork::kBatch, 0);
    piece.first += part.first;
    const at::Tensor share =
        step_->run(buffers.images, {buffers.targets, buffers.others, buffers.shares, buffers.taught}, piece,
                   batch, values, accumulation);
    loss = loss.defined() ? loss.add_(share) : share;
    accumulation.earlier += piece.count;
  }
  epoch_->finish_step(loss);
}

/// Sets the place in the epoch's order at which the next step's part of the batch begins.
void Learner::seek(std::size_t place) {
  flush();
  const std::int64_t step = steps_done_ % steps_per_epoch_;
  if (step != next_step_) first_unread_ = next_step_ = step;
  stream_.run([&] { epoch_->seek(step, static_cast<std::int64_t>(place)); });
  next_place_ = place;
}

/// Gives the begun steps to the device.
void Learner::flush() {
  if (queued_ == policy_.burst && burst_work_ != nullptr && step_work_->is_recorded()) {
    burst_work_->run();
    queued_ = 0;
    if (!burst_work_->is_recorded()) {
      burst_work_.reset();  // the device refused; replaying single steps is the better way
    }
  }
  for (; queued_ > 0; --queued_) step_work_->run();
}

std::span<const double> Learner::losses() {
  flush();
  const std::int64_t count = next_step_ - first_unread_;
  losses_.clear();
  if (count > 0) {
    stream_.wait();
    stream_.run([&] { losses_ = epoch_->losses(first_unread_, count); });
  }
  first_unread_ = next_step_;
  return losses_;
}

void Learner::require_losses_read() const {
  require(queued_ == 0, "steps were begun whose losses were not asked for");
}

void Learner::watch(const StepWatch& watch) {
  watch_ = {};
  if (watch) {
    watch_ = [this, watch](StepWork work, std::size_t layer) {
      stream_.wait();
      watch(work, layer);
    };
  }
  step_->watch(watch_);
}

ScoredBatch Learner::score(SampleSet set, std::span<const std::int64_t> indices) {
  require_losses_read();
  return evaluation_->score(set, indices);
}

void Learner::set_latency_batch(std::span<const std::int64_t> indices) {
  require_losses_read();
  evaluation_->set_latency_batch(indices);
}

void Learner::swap_average() {
  require_losses_read();
  stream_.run([&] { step_->swap_average(); });
}

void Learner::keep_best() {
  stream_.run([&] { step_->keep_best(); });
}

void Learner::restore_best() {
  stream_.run([&] { step_->restore_best(); });
}

bool Learner::recalibrate(const std::function<bool(std::int64_t number)>& goes_on) {
  require_losses_read();
  constexpr std::uint64_t kOwnOrder = 0x726563616c696272U;
  const std::vector<std::int64_t> order = epoch_order(setup_.split.train, trial_.seed ^ kOwnOrder, 0);
  // No pass may need more memory than those of training, which normalizes by parts of a batch.
  const std::int64_t parts = setup_.options.accumulate;
  const std::int64_t batch = std::max<std::int64_t>(1, batch_ / parts);
  const std::int64_t batches =
      std::min(setup_.options.recalibrate * parts, static_cast<std::int64_t>(order.size()) / batch);
  const bool together =
      group_ != nullptr && setup_.options.group.statistics == GroupOptions::Statistics::kSynchronized;
  const auto samples = static_cast<std::size_t>(batch);
  const BatchPart part = together ? part_of_batch(samples, members_, member_) : BatchPart{0, samples};
  bool done = false;
  stream_.run([&] {
    const at::Tensor places = at::tensor(order).to(context_.device());
    const BatchBuffers buffers = BatchBuffers::make(static_cast<std::int64_t>(part.count), setup_);
    done = step_->recalibrate(batches, part, batch, [&](std::int64_t number) {
      stream_.wait();
      if (!goes_on(number)) return at::Tensor();
      const std::int64_t first = number * batch + static_cast<std::int64_t>(part.first);
      const at::Tensor position = at::tensor(first).to(context_.device());
      if (part.count > 0) gather_on_device(context_, SampleSet::kTrain, places, position, buffers);
      return buffers.images;
    });
  });
  return done;
}

std::vector<trial::NamedTensor> Learner::export_tensors() const {
  require_losses_read();
  std::vector<trial::NamedTensor> tensors;
  stream_.run([&] { tensors = step_->parameters().export_tensors(); });
  return tensors;
}

void Learner::import_tensors(const std::vector<trial::NamedTensor>& tensors) {
  stream_.run([&] { step_->parameters().import_tensors(tensors); });
}

/// The wait for the other members must notice when they are lost, which a copy to the host would not.
void Learner::collect_state() {
  require_losses_read();
  stream_.run([&] { step_->collect_state([&] { stream_.wait(); }); });
  stream_.wait();
}

void Learner::save_state(trial::TrainingState& state) const {
  require_losses_read();
  state.step = steps_done_;
  stream_.run([&] { step_->save_state(state); });
}

bool Learner::load_state(const trial::TrainingState& state) {
  bool fits = false;
  stream_.run([&] { fits = step_->load_state(state); });
  if (fits) {
    steps_done_ = state.step;
    next_place_.reset();
  }
  return fits;
}

}  // namespace skyline::train
