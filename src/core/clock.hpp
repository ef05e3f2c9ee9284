#pragma once

#include "core/backoff.hpp"

#include <chrono>

namespace skyline {

/// The time of a main loop. A simulation has its own clock, whose pauses take no time.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds of a clock that never jumps.
  virtual double now_s() const = 0;
  /// Waits, longer at each call; called when there is nothing to do.
  virtual void pause() = 0;
  /// Makes the next pause short again; called after work was done.
  virtual void worked() = 0;
};

/// The steady clock of this process. Pauses grow from 0.25 to 10 ms: with a shorter first pause rank 0 would
/// lose more time by polling MPI than its slots gain.
class SteadyClock final : public Clock {
 public:
  double now_s() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  void pause() override { backoff_.pause(); }
  void worked() override { backoff_.reset(); }

 private:
  static constexpr std::chrono::microseconds kShortestPause{250};
  Backoff backoff_{kShortestPause};
};

}  // namespace skyline
