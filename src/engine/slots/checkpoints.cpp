#include "engine/slots/checkpoints.hpp"

#include "core/backoff.hpp"
#include "engine/work/run_files.hpp"

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

namespace skyline::engine {
namespace {

constexpr std::size_t kBuffers = 2;

}  // namespace

/// Lends buffers. A buffer returns with the last copy of its lease, also when a job is dropped.
class SlotCheckpoints::Buffers : public std::enable_shared_from_this<Buffers> {
 public:
  using Lease = std::shared_ptr<store::TrialCheckpoint>;

  bool one_is_free() const {
    const std::lock_guard lock(mutex_);
    return free_.size() > 0;
  }
  /// Returns an empty lease if none is free and `wait` is false.
  Lease acquire(bool wait) {
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

SlotCheckpoints::SlotCheckpoints(std::shared_ptr<CheckpointFolder> folder, const std::atomic<bool>& stop,
                                 bool folders)
    : folder_(std::move(folder)), stop_(stop), folders_(folders), buffers_(std::make_shared<Buffers>()) {}

void SlotCheckpoints::begin(const trial::Trial& trial, std::uint32_t attempt) {
  trial_ = trial.name();
  attempt_ = attempt;
  provenance_ = folder_->provenance(trial);
  found_.reset();
  sequence_ = 0;
  saves_ = 0;
  keeps_last_ = false;
  if (auto found = folder_->find(trial_, provenance_, attempt)) {
    sequence_ = found->next_sequence;
    found_ = std::move(found->checkpoint);
  }
  resumed_ = found_.has_value();
  if (!found_ && !folders_ && trial.continues() != nullptr) {
    if (auto kept = folder_->find_kept(trial, stop_)) found_ = {trial_, provenance_, std::move(*kept)};
  }
  kept_provenance_ = trial.may_be_continued() ? folder_->kept_provenance(trial) : "";
  has_stepped_ = false;
  begun_step_ = saved_step_ = found_ ? found_->state.step : 0;
  written_step_ = std::make_shared<std::int64_t>(saved_step_);
  began_ = last_save_ = Clock::now();
  epochs_at_last_save_.reset();
  if (!found_) epochs_at_last_save_ = 0;
  copy_s_ = last_copy_s_ = 0;
}

const trial::TrainingState* SlotCheckpoints::saved() const {
  return found_ ? &found_->state : nullptr;
}

bool SlotCheckpoints::due(double epochs_done) {
  found_.reset();  // the evaluator has taken what it needs, and this may be large
  if (!folder_->options()) return false;
  has_stepped_ = true;
  epochs_done_ = epochs_done;
  if (!epochs_at_last_save_) epochs_at_last_save_ = epochs_done;
  return interval_is_over(epochs_done) && copying_is_cheap() && buffers_->one_is_free();
}

bool SlotCheckpoints::interval_is_over(double epochs_done) const {
  const CheckpointOptions& options = *folder_->options();
  if (options.interval_epochs && epochs_done - *epochs_at_last_save_ >= *options.interval_epochs) return true;
  return options.interval_s && seconds_since(last_save_) >= *options.interval_s;
}

bool SlotCheckpoints::copying_is_cheap() const {
  const double trained_s = seconds_since(began_);
  return copy_s_ + last_copy_s_ <= folder_->options()->most_overhead * trained_s;
}

/// An error, even a lack of memory, is logged, and does not make the trial fail.
void SlotCheckpoints::save(const std::function<void(trial::TrainingState&)>& fill) {
  if (!folder_->options()) return;
  const Clock::time_point begin = Clock::now();
  try {
    if (!stage(fill)) return;
  } catch (const std::exception& error) {
    folder_->warn_of_one_left_out(trial_, error.what());
  }
  last_save_ = Clock::now();
  last_copy_s_ = std::chrono::duration<double>(last_save_ - begin).count();
  copy_s_ += last_copy_s_;
  epochs_at_last_save_ = epochs_done_;
}

/// Returns whether there was a buffer.
bool SlotCheckpoints::stage(const std::function<void(trial::TrainingState&)>& fill) {
  const bool last = stop_;
  const Buffers::Lease buffer = buffers_->acquire(last);
  if (!buffer) return false;
  if (buffer->provenance != provenance_) *buffer = {trial_, provenance_, {}};
  buffer->attempt = attempt_;
  fill(buffer->state);
  folder_->storage().submit([folder = folder_, buffer, sequence = sequence_, last,
                             written_step = written_step_, begun = begun_step_] {
    if (!folder->write(*buffer, sequence, last)) return;
    *written_step = buffer->state.step;
    if (*written_step > begun) folder->advanced(buffer->trial);
  });
  ++sequence_;
  ++saves_;
  saved_step_ = buffer->state.step;
  has_stepped_ = false;
  return true;
}

/// Waits for a free buffer. An error is logged, and does not make the trial fail.
void SlotCheckpoints::save_last(const std::function<void(trial::TrainingState&)>& fill) {
  if (kept_provenance_.empty()) return;
  try {
    const Buffers::Lease buffer = buffers_->acquire(true);
    *buffer = {trial_, kept_provenance_, {}};
    fill(buffer->state);
    folder_->storage().submit([folder = folder_, buffer] { folder->keep(*buffer); });
    keeps_last_ = true;
  } catch (const std::exception& error) {
    folder_->warn_of_one_left_out(trial_, error.what());
  }
}

bool SlotCheckpoints::result_worth_keeping() const {
  if (!folder_->options()) return false;
  if (has_files()) return true;
  const std::optional<double>& interval_s = folder_->options()->interval_s;
  return interval_s && seconds_since(began_) >= *interval_s;
}

bool SlotCheckpoints::all_is_saved() const {
  if (!folder_->options() || (saves_ == 0 && !has_stepped_)) return true;
  if (has_stepped_) return false;
  return call_storage<bool>(folder_->storage(), [written_step = written_step_, step = saved_step_] {
    return *written_step >= step;
  });
}

}  // namespace skyline::engine
