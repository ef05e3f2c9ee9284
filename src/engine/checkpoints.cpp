#include "engine/checkpoints.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/log.hpp"

#include "engine/storage_call.hpp"

#include <array>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace skyline::engine {
namespace {

constexpr std::size_t kBuffers = 2;
constexpr std::chrono::minutes kWarningInterval{1};

}  // namespace

CheckpointFolder::CheckpointFolder(const RunInputs& inputs)
    : storage_(inputs.storage),
      paths_(inputs.paths),
      run_(stamp_of(inputs)),
      options_(inputs.options.checkpoints),
      resume_(inputs.options.resume) {}

store::CheckpointOwner CheckpointFolder::owner(const objective::Trial& trial) const {
  return {.run = run_,
          .arch_id = to_text(trial.architecture().id),
          .phase = std::string(to_text(trial.phase)),
          .trial = trial.number,
          .seed = trial.seed,
          .epochs = trial.epochs};
}

std::optional<store::FoundCheckpoint> CheckpointFolder::find(const store::CheckpointOwner& owner) const {
  using Found = std::optional<store::FoundCheckpoint>;
  if (!resume_) return std::nullopt;
  return call_storage<Found>(storage(), [this, owner] { return store::find_checkpoint(paths_, owner); });
}

bool CheckpointFolder::write(const store::TrialCheckpoint& checkpoint, std::uint64_t sequence) {
  try {
    store::write_checkpoint(paths_, checkpoint, sequence);
    return true;
  } catch (const UserError& error) {
    const Clock::time_point now = Clock::now();
    if (warned_ && now < *warned_ + kWarningInterval) return false;
    warned_ = now;
    log::warning(std::string("a checkpoint is left out: ") + error.what());
    return false;
  }
}

void CheckpointFolder::keep_results(std::vector<objective::CommittedTrial> waiting) {
  if (!options() || waiting.empty()) return;
  storage().submit([self = shared_from_this(), results = std::move(waiting)] {
    for (const objective::CommittedTrial& result : results) {
      const store::CheckpointOwner its_owner = self->owner(result.trial);
      const auto found = store::find_checkpoint(self->paths_, its_owner);
      if (found && found->checkpoint.finished) continue;  // its slot has kept it
      const store::FinishedTrial finished{result.outcome, result.timing};
      if (!self->write({its_owner, {}, finished}, found ? found->next_sequence : 0)) return;
    }
  });
}

void CheckpointFolder::remove(objective::TrialNumber trial) {
  if (!options() && !resume_) return;
  storage().submit([self = shared_from_this(), trial] { store::remove_checkpoints(self->paths_, trial); });
}

/// Lends buffers out; one comes back when the last copy of its lease goes, also when a queued job is dropped.
class SlotCheckpoints::Buffers : public std::enable_shared_from_this<Buffers> {
 public:
  using Lease = std::shared_ptr<store::TrialCheckpoint>;

  bool one_is_free() const {
    const std::lock_guard lock(mutex_);
    return free_.size() > 0;
  }
  /// An empty lease if none is free and `wait` is false.
  Lease take(bool wait) {
    std::unique_lock lock(mutex_);
    if (wait) came_back_.wait(lock, [this] { return !free_.empty(); });
    if (free_.empty()) return {};
    store::TrialCheckpoint* buffer = free_.back();
    free_.pop_back();
    return {buffer, [self = shared_from_this()](store::TrialCheckpoint* given) { self->give_back(given); }};
  }

 private:
  void give_back(store::TrialCheckpoint* buffer) {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(buffer);
    }
    came_back_.notify_one();
  }

  std::array<store::TrialCheckpoint, kBuffers> all_;
  mutable std::mutex mutex_;
  std::condition_variable came_back_;
  std::vector<store::TrialCheckpoint*> free_{&all_[0], &all_[1]};
};

SlotCheckpoints::SlotCheckpoints(std::shared_ptr<CheckpointFolder> folder, const std::atomic<bool>& stop)
    : folder_(std::move(folder)), stop_(stop), buffers_(std::make_shared<Buffers>()) {}

std::optional<store::FinishedTrial> SlotCheckpoints::begin(const objective::Trial& trial) {
  owner_ = folder_->owner(trial);
  found_.reset();
  sequence_ = 0;
  saves_ = 0;
  if (auto found = folder_->find(owner_)) {
    if (found->checkpoint.finished) return found->checkpoint.finished;
    sequence_ = found->next_sequence;
    found_ = std::move(found->checkpoint);
  }
  began_ = last_save_ = Clock::now();
  epochs_at_last_save_.reset();
  if (!found_) epochs_at_last_save_ = 0;
  copy_s_ = last_copy_s_ = 0;
  return std::nullopt;
}

const objective::TrainingState* SlotCheckpoints::saved_state() const {
  return found_ ? &found_->state : nullptr;
}

bool SlotCheckpoints::due(double epochs_done) {
  if (!folder_->options()) return false;
  epochs_done_ = epochs_done;
  if (!epochs_at_last_save_) epochs_at_last_save_ = epochs_done;
  return interval_is_over(epochs_done) && copying_is_cheap() && buffers_->one_is_free();
}

bool SlotCheckpoints::interval_is_over(double epochs_done) const {
  const CheckpointOptions& options = *folder_->options();
  if (options.interval_epochs && epochs_done - *epochs_at_last_save_ >= *options.interval_epochs) return true;
  return options.interval_s &&
         std::chrono::duration<double>(Clock::now() - last_save_).count() >= *options.interval_s;
}

bool SlotCheckpoints::copying_is_cheap() const {
  const double trained_s = std::chrono::duration<double>(Clock::now() - began_).count();
  return copy_s_ + last_copy_s_ <= folder_->options()->most_overhead * trained_s;
}

void SlotCheckpoints::save(const std::function<void(objective::TrainingState&)>& fill) {
  if (!folder_->options()) return;
  const Buffers::Lease buffer = buffers_->take(stop_);
  if (!buffer) return;
  const Clock::time_point begin = Clock::now();
  if (buffer->owner != owner_) *buffer = {owner_, {}, {}};
  fill(buffer->state);
  last_save_ = Clock::now();
  last_copy_s_ = std::chrono::duration<double>(last_save_ - begin).count();
  copy_s_ += last_copy_s_;
  epochs_at_last_save_ = epochs_done_;
  ++saves_;
  folder_->storage().submit(
      [folder = folder_, buffer, sequence = sequence_++] { folder->write(*buffer, sequence); });
}

bool SlotCheckpoints::result_worth_keeping() const {
  if (!folder_->options()) return false;
  if (saves_ > 0 || found_) return true;
  const std::optional<double>& interval_s = folder_->options()->interval_s;
  return interval_s && std::chrono::duration<double>(Clock::now() - began_).count() >= *interval_s;
}

std::function<void()> SlotCheckpoints::result_writer(const store::FinishedTrial& result) const {
  return [folder = folder_, checkpoint = store::TrialCheckpoint{owner_, {}, result}, sequence = sequence_] {
    folder->write(checkpoint, sequence);
  };
}

}  // namespace skyline::engine
