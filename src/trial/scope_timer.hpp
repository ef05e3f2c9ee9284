#pragma once

#include "skyline/trial/trial.hpp"

#include "core/backoff.hpp"

#include <chrono>

namespace skyline::trial {

/// Adds the time of a scope to a part of a trial's time, without the trial's waits, which inner scopes count.
/// Used by the trial's thread.
class ScopeTimer {
 public:
  using TimingField = double TrialTiming::*;

  ScopeTimer(TrialTiming& timing, TimingField field)
      : timing_(timing),
        field_(field),
        waited_s_(timing.waited_s()),
        start_(std::chrono::steady_clock::now()) {}
  ~ScopeTimer() { timing_.*field_ += seconds_since(start_) - (timing_.waited_s() - waited_s_); }
  ScopeTimer(const ScopeTimer&) = delete;
  ScopeTimer& operator=(const ScopeTimer&) = delete;

 private:
  TrialTiming& timing_;
  const TimingField field_;
  const double waited_s_;  // time waited before the scope
  const std::chrono::steady_clock::time_point start_;
};

}  // namespace skyline::trial
