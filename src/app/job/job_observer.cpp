#include "app/job/job_observer.hpp"

#include "skyline/core/error.hpp"

#include <utility>

namespace skyline::app {

JobObserver::JobObserver(std::unique_ptr<report::RunProgress> progress, report::RunTracking& tracking,
                         const store::RunClaim& claim)
    : progress_(std::move(progress)), tracking_(tracking), claim_(claim) {}

void JobObserver::started(const std::vector<engine::SlotAccount>& slots, std::size_t replayed,
                          std::size_t expected) {
  expected_ = expected;
  progress_->started(slots, replayed, expected);
}

void JobObserver::committed(const trial::CommittedTrial& trial, bool on_front, std::size_t in_flight) {
  progress_->committed(trial, on_front, in_flight);
  tracking_.committed(trial);
}

void JobObserver::phase_changed(trial::Phase phase, std::size_t expected) {
  progress_->phase_changed(phase, expected);
}

void JobObserver::stopping() {
  progress_->stopping();
}

void JobObserver::tick() {
  progress_->tick();
  try {
    claim_.check();
  } catch (const Problem&) {
    tracking_.abandon();  // whoever has the folder goes on with what is tracked, too
    throw;
  }
}

}  // namespace skyline::app
