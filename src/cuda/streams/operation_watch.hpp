#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

namespace skyline::cuda {

/// Counts the operations of a group that a device may be executing, to tell of one that does not end.
class OperationWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit OperationWatch(Clock::duration limit) : limit_(limit) {}

  /// Notes a queued operation.
  void queue(Clock::time_point now) { queued_.push_back(now); }
  /// Removes the oldest queued operation, which has ended.
  void end_oldest() {
    queued_.pop_front();
    ++ended_;
  }
  /// Notes a recorded operation, which a replayed graph may execute at any time.
  void record() { ++recorded_; }

  /// Returns one line about what takes too long, if anything does.
  /// @param waiting_since  time at which the thread began to wait for the device, or nullopt if it does not
  ///                       wait
  std::optional<std::string> overdue(Clock::time_point now,
                                     std::optional<Clock::time_point> waiting_since) const;

 private:
  Clock::duration limit_;
  std::deque<Clock::time_point> queued_;
  std::size_t ended_ = 0;
  std::size_t recorded_ = 0;
};

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
  virtual void look(Clock::time_point waiting_since) = 0;
};

}  // namespace skyline::cuda
