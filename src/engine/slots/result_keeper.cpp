#include "engine/slots/result_keeper.hpp"

#include "core/log.hpp"
#include "engine/loop/trial_maker.hpp"
#include "engine/work/run_files.hpp"
#include "store/weights/checkpoint.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace skyline::engine {
namespace {

constexpr double kIntervalWithoutOne_s = 60;  // used if checkpoints are due only by epochs
constexpr std::chrono::milliseconds kHurry{500};

}  // namespace

ResultKeeper::ResultKeeper(const RunFiles& files, const space::SearchSpace& space, int rank,
                           const EngineOptions& options)
    : storage_(files.storage),
      space_(space),
      paths_(files.paths),
      header_(files.header),
      rank_(rank),
      options_(options.checkpoints),
      resume_(options.resume) {}

std::chrono::duration<double> ResultKeeper::interval() const {
  return std::chrono::duration<double>(options_->interval_s.value_or(kIntervalWithoutOne_s));
}

void ResultKeeper::add(const trial::CommittedTrial& result) {
  if (!options_) return;
  const std::lock_guard lock(mutex_);
  results_.insert_or_assign(
      result.trial.name(),
      trial::CommittedTrial{without_network(result.trial), result.outcome, result.timing, result.position});
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

/// Returns the results for the file; from now on they count as written.
trial::ResultsByName ResultKeeper::not_journalled() {
  const std::lock_guard lock(mutex_);
  unsaved_since_.reset();
  write_queued_ = false;
  return results_;
}

void ResultKeeper::write_if_due() {
  {
    const std::lock_guard lock(mutex_);
    if (!unsaved_since_ || write_queued_) return;
    if (!stopping_ && Clock::now() - *unsaved_since_ < interval()) return;
    write_queued_ = true;
  }
  storage_.post([self = shared_from_this()] { self->write(); });
}

void ResultKeeper::hurry() {
  const std::lock_guard lock(mutex_);
  if (!unsaved_since_) return;
  const auto passed = std::chrono::duration_cast<Clock::duration>(interval()) - kHurry;
  unsaved_since_ = std::min(*unsaved_since_, Clock::now() - passed);
}

void ResultKeeper::leaves_checkpoint(trial::TrialName trial) {
  const std::lock_guard lock(mutex_);
  checkpointed_.insert(trial);
}

void ResultKeeper::journalled(std::span<const trial::TrialName> trials) {
  const std::lock_guard lock(mutex_);
  for (const trial::TrialName name : trials) {
    results_.erase(name);
    if (checkpointed_.erase(name) == 0) continue;
    storage_.post([paths = paths_, name] { store::remove_checkpoints(paths, name); });
  }
  if (results_.empty()) unsaved_since_.reset();
  if (rank_ == 0) journalled_.insert(journalled_.end(), trials.begin(), trials.end());
}

std::vector<trial::TrialName> ResultKeeper::take_journalled() {
  const std::lock_guard lock(mutex_);
  return std::exchange(journalled_, {});
}

trial::ResultsByName ResultKeeper::recover_results(const trial::CommitLog& committed) {
  if (!resume_) return {};
  return call_storage<trial::ResultsByName>(storage_, [this, &committed] {
    trial::ResultsByName earlier = store::read_waiting_results(paths_, header_, space_, committed);
    for (const auto& [name, result] : earlier) add(result);
    if (earlier.empty()) {
      store::remove_waiting_results(paths_);
    } else if (write()) {
      store::remove_waiting_results(paths_, rank_);
    }
    return earlier;
  });
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
