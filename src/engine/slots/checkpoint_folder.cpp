#include "engine/slots/checkpoint_folder.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/running_trials.hpp"

#include <exception>
#include <utility>

namespace skyline::engine {
namespace {

constexpr std::chrono::seconds kPatienceAtStop{5};  // a batch system ends the job after some 30 s

}  // namespace

CheckpointFolder::CheckpointFolder(const RunFiles& files, const std::optional<CheckpointOptions>& options,
                                   bool resume, int rank, std::shared_ptr<store::RunningTrials> running)
    : storage_(files.storage),
      paths_(files.paths),
      run_(files.stamp()),
      options_(options),
      resume_(resume),
      rank_(rank),
      running_(std::move(running)) {}

void CheckpointFolder::stop() {
  patient_until_ = Clock::now() + kPatienceAtStop;
  store::cut_patience(std::chrono::duration<double>(kPatienceAtStop).count());
}

std::optional<store::FoundCheckpoint> CheckpointFolder::find(trial::TrialName trial,
                                                             const std::string& provenance,
                                                             std::uint32_t attempt) const {
  using Found = std::optional<store::FoundCheckpoint>;
  if (attempt == 0 && !left_by_earlier_job().contains(trial)) return std::nullopt;
  return call_storage<Found>(storage(), [this, trial, provenance]() -> Found {
    try {
      return store::find_checkpoint(paths_, trial, provenance);
    } catch (const std::exception& error) {
      log::warning("trial " + to_text(trial) + ": its checkpoint cannot be read: " + error.what() +
                   "; training from the start");
      return std::nullopt;
    }
  });
}

/// Reads the folder once for all slots, because most trials of a long run have no checkpoint.
const std::set<trial::TrialName>& CheckpointFolder::left_by_earlier_job() const {
  using Trials = std::set<trial::TrialName>;
  std::call_once(looked_, [this] {
    if (!resume_) return;
    left_ = call_storage<Trials>(storage(), [this]() -> Trials {
      try {
        return store::checkpointed_trials(paths_);
      } catch (const std::exception& error) {
        log::warning(std::string(error.what()) + "; trials that were saved are trained from the start");
        return {};
      }
    });
  });
  return left_;
}

bool CheckpointFolder::write(const store::TrialCheckpoint& checkpoint, std::uint64_t sequence, bool last) {
  try {
    const bool patient = last && Clock::now() < patient_until_.load();
    store::write_checkpoint(paths_, checkpoint, sequence,
                            patient ? store::Effort::kPatient : store::Effort::kOnce);
    return true;
  } catch (const std::exception& error) {
    if (last) {
      log::warning("trial " + to_text(checkpoint.trial) + ": its last state is not saved: " + error.what());
    } else {
      warn_of_one_left_out(checkpoint.trial, error.what());
    }
    return false;
  }
}

void CheckpointFolder::advanced(trial::TrialName trial) {
  if (running_ == nullptr || !running_->advances(trial) || !resume_) return;
  try {
    store::remove_suspect(paths_, trial);
  } catch (const std::exception& error) {
    warning_.warn("trial " + to_text(trial) + " stays suspected of ending jobs: " + error.what());
  }
}

void CheckpointFolder::warn_of_one_left_out(trial::TrialName trial, const std::string& problem) {
  warning_.warn("a checkpoint is left out: trial " + to_text(trial) + ": " + problem);
}

void CheckpointFolder::keep(const store::TrialCheckpoint& state) {
  try {
    store::write_kept_state(paths_, state);
  } catch (const std::exception& error) {
    warning_.warn("trial " + to_text(state.trial) + ": the state for trials that continue it is not kept: " +
                  error.what() + "; they train from the start");
  }
}

std::optional<trial::TrainingState> CheckpointFolder::find_kept(const trial::Trial& trial,
                                                                const std::atomic<bool>& stop) const {
  using Found = std::optional<trial::TrainingState>;
  const trial::Continue& earlier = *trial.continues();
  const auto look = [this, from = earlier.from,
                     provenance = store::kept_provenance(earlier.from, trial, run_)]() -> Found {
    return store::find_kept_state(paths_, from, provenance);
  };
  const bool may_show_later = earlier.holder >= 0 && earlier.holder != rank_;
  const double patience_s = may_show_later ? kVisibleAfter * store::patience_s() : 0;
  std::string problem = "is not there";
  Found found;
  try_for(patience_s, stop, [&] {
    try {
      found = call_storage<Found>(storage(), look);
      return found.has_value();
    } catch (const Problem& error) {
      problem = std::string("cannot be used: ") + error.what();
      return true;
    }
  });
  if (found || stop) return found;
  log::warning("trial " + to_text(trial.name()) + ": the state that trial " + std::to_string(earlier.from) +
               " kept " + problem + "; training from the start");
  return std::nullopt;
}

void CheckpointFolder::started(const run::RunState& /*state*/) {
  if (!resume_) return;
  (void)left_by_earlier_job();
  kept_ =
      call_storage<std::set<trial::TrialNumber>>(storage(), [this] { return store::kept_states(paths_); });
}

void CheckpointFolder::committed(const run::Commit& commit, const run::RunState& /*state*/) {
  if (commit.replayed) return;
  const trial::Trial& trial = commit.trial->trial;
  if (trial.may_be_continued()) kept_.insert(trial.number);
  const trial::TrialName name = trial.name();
  const bool by_lost_rank = lost_.contains(commit.trial->timing.rank);
  const bool again = again_.erase(name) > 0;
  if (!again && !by_lost_rank && !left_by_earlier_job().contains(name)) return;
  storage().post([self = shared_from_this(), name] { self->remove_now(name, store::kMostAttempts); });
}

void CheckpointFolder::released(const trial::Trial& trial) {
  if (kept_.erase(trial.number) == 0) return;
  storage().post([self = shared_from_this(), number = trial.number] {
    try {
      store::remove_kept_state(self->paths_, number);
    } catch (const std::exception& error) {
      self->warning_.warn("the state that trial " + std::to_string(number) +
                          " kept cannot be removed: " + error.what());
    }
  });
}

}  // namespace skyline::engine
