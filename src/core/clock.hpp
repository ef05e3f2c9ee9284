#pragma once

#include "core/backoff.hpp"

#include <chrono>

namespace skyline {

/// The time of a main loop. A simulation brings a clock of its own, whose pauses take no time.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds of a clock that never jumps.
  virtual double now_s() const = 0;
  /// Called when there is nothing to do: waits, longer each time.
  virtual void pause() = 0;
  /// Called after work was done: the next pause is short again.
  virtual void worked() = 0;
};

/// The steady clock of this process; pauses grow from 0.25 to 10 ms: a shorter first one costs rank 0 more in
/// looks at MPI than slots gain.
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
