#pragma once

#include <chrono>

namespace skyline::cuda {

/// A function that every wait of this thread for a device calls, and that may throw there. Without it, work
/// that waits for a lost process would never end. It is made, used and destroyed on one thread.
class WaitWatch {
 public:
  using Clock = std::chrono::steady_clock;

  WaitWatch();
  virtual ~WaitWatch();
  WaitWatch(const WaitWatch&) = delete;
  WaitWatch& operator=(const WaitWatch&) = delete;

  /// Calls all watches of this thread.
  /// @param since  time at which the wait began
  static void call_all(Clock::time_point since);

 private:
  virtual void check(Clock::time_point waiting_since) = 0;
};

}  // namespace skyline::cuda
