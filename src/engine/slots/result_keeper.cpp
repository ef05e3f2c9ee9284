#include "engine/slots/result_keeper.hpp"

#include "core/log.hpp"
#include "engine/loop/replay.hpp"
#include "engine/slots/timed_storage_call.hpp"

#include <exception>
#include <string>
#include <utility>

namespace skyline::engine {
namespace {

constexpr double kIntervalWithoutOne_s = 60;  // checkpoints are due by epochs alone

}  // namespace

ResultKeeper::ResultKeeper(const RunInputs& inputs)
    : storage_(inputs.storage),
      space_(inputs.space),
      paths_(inputs.paths),
      header_(inputs.header),
      rank_(inputs.environment.world().rank()),
      options_(inputs.options.checkpoints),
      resume_(inputs.options.resume) {}

std::chrono::duration<double> ResultKeeper::interval() const {
  return std::chrono::duration<double>(options_->interval_s.value_or(kIntervalWithoutOne_s));
}

void ResultKeeper::add(const trial::CommittedTrial& result) {
  if (!options_) return;
  const std::lock_guard lock(mutex_);
  results_.insert_or_assign(result.trial.name(), result);
  if (!unsaved_since_) unsaved_since_ = Clock::now();
}

bool ResultKeeper::write() {
  if (!options_) return false;
  try {
    const auto effort = stopping_ ? store::Effort::kPatient : store::Effort::kOnce;
    store::write_waiting_results(paths_, rank_, header_, not_journalled(), space_, effort);
    return true;
  } catch (const std::exception& error) {
    const std::string text = std::string("results that wait for their commit are not saved: ") + error.what();
    if (stopping_) {
      log::warning(text);
    } else {
      warning_.warn(text);
    }
    const std::lock_guard lock(mutex_);
    if (!stopping_ && !unsaved_since_) unsaved_since_ = Clock::now();
    return false;
  }
}

/// What the file is to hold; from here on it counts as written.
store::ResultsByName ResultKeeper::not_journalled() {
  const std::lock_guard lock(mutex_);
  unsaved_since_.reset();
  write_queued_ = false;
  return results_;
}

void ResultKeeper::look_after() {
  {
    const std::lock_guard lock(mutex_);
    if (!unsaved_since_ || write_queued_) return;
    if (!stopping_ && Clock::now() - *unsaved_since_ < interval()) return;
    write_queued_ = true;
  }
  storage_.submit([self = shared_from_this()] { self->write(); });
}

void ResultKeeper::journalled(std::span<const trial::TrialName> trials) {
  const std::lock_guard lock(mutex_);
  for (const trial::TrialName name : trials) results_.erase(name);
  if (results_.empty()) unsaved_since_.reset();
  if (rank_ == 0) journalled_.insert(journalled_.end(), trials.begin(), trials.end());
}

std::vector<trial::TrialName> ResultKeeper::take_journalled() {
  const std::lock_guard lock(mutex_);
  return std::exchange(journalled_, {});
}

void ResultKeeper::take_over(std::span<const trial::CommittedTrial> committed) {
  if (!resume_) return;
  call_storage<bool>(storage_, [this, committed] {
    earlier_ = store::read_waiting_results(paths_, header_, space_, committed);
    for (const auto& [name, result] : earlier_) add(result);
    if (earlier_.empty()) {
      store::remove_waiting_results(paths_);
    } else if (write()) {
      store::remove_waiting_results(paths_, rank_);
    }
    return true;
  });
}

std::optional<trial::CommittedTrial> ResultKeeper::take(const trial::Trial& trial) {
  auto found = earlier_.extract(trial.name());
  if (!found) return std::nullopt;
  if (same_training(found.mapped().trial, trial)) return std::move(found.mapped());
  log::warning("trial " + to_text(trial.name()) +
               ": the result that an earlier job left is of another trial; training it");
  return std::nullopt;
}

void ResultKeeper::remove_files() {
  if (!options_ && !resume_) return;
  call_storage<bool>(storage_, [this] {
    try {
      store::remove_waiting_results(paths_);
    } catch (const std::exception& error) {  // the next job knows that these trials are committed
      log::warning(error.what());
    }
    return true;
  });
}

}  // namespace skyline::engine
